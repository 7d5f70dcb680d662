/* Shares its name with ../store/twin.c, its tag too, and includes what stands above it. */
#include "../store/above.h"

struct twin_tag {
	int number;
};
