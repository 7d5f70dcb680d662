/* Includes below.h, which includes it. */
#include "below.h"
