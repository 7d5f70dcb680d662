/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

struct si_arena si_arena;
