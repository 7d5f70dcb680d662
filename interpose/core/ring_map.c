/* SPDX-License-Identifier: Apache-2.0 */
#include "ring_map.h"

struct si_ring si_ring;
