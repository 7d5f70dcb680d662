/* Includes above.h, which includes it. */
#include "above.h"
