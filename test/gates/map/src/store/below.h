/* Includes above.h, which includes it. */
#include "above.h"


/* What it costs. */
/*
 * Of the one above.
 * What is not at the beginning does not count.
 */
