/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

struct si_settings si_settings;
char si_executable[SHINY_PATH_MAX];
char si_library_below[SHINY_PATH_MAX];
char si_session_variable[SI_DIRECTORY + 16];
