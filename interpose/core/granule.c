/* SPDX-License-Identifier: Apache-2.0 */
#include "granule.h"

const uint64_t *si_granules;
