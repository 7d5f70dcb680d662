/* Includes below.h, which includes it. */
#include "below.h"
int elsewhere_made(void);
