/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objc.m: makes objects of Objective-C classes on gcc's run time, and prints its own book: "truth
 * CLASS MADE ENDED BYTES", bytes of one. Plain; Large, with bytes behind its members; Changed,
 * whose class is another one later; Loaded, of a library that is opened when the program runs (this
 * file, with LIBRARY defined); MadeNow, a class that is made at run time, and one in its place. A
 * forked child makes more.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#import <objc/Object.h>
#import <objc/runtime.h>

#ifdef LIBRARY
@interface Loaded : Object {
	long members[3];
}
@end
@implementation Loaded
@end
#else
@interface Plain : Object {
	int number;
}
@end
@implementation Plain
@end
@interface Large : Plain
@end
@implementation Large
@end
@interface Changed : Plain
@end
@implementation Changed
@end

static void work(Class class, int n, size_t extra)
{
	id *objects = calloc((size_t)n, sizeof(*objects));

	for (int i = 0; i < n; i++)
		objects[i] = class_createInstance(class, extra);
	if (class == objc_getClass("Changed"))
		for (int i = 0; i < n; i++)
			object_setClass(objects[i], objc_getClass("Plain"));
	for (int i = 0; i < n; i += 3)
		object_dispose(objects[i]);
	free(objects);
	printf("truth %s %d %d %zu\n", class_getName(class), n, (n + 2) / 3,
	       class_getInstanceSize(class) + extra);
}

int main(int argc, char **argv)
{
	const char *names[] = { "Plain", "Large", "Changed", "Loaded" };
	char name[] = "MadeNow", other[] = "NeverUsed";
	Class made;
	int status;

	if (argc != 2 || !dlopen(argv[1], RTLD_NOW))
		return 2;
	for (int i = 0; i < 4; i++)
		work(objc_getClass(names[i]), 100 + i, i == 1 ? 1000 : 0);
	objc_disposeClassPair(objc_allocateClassPair(objc_getClass("Plain"), other, 0));
	made = objc_allocateClassPair(objc_getClass("Plain"), name, 0);
	class_addIvar(made, "more", 40, 3, "[40c]");
	objc_registerClassPair(made);
	memset(name, 'x', sizeof(name) - 1);
	work(made, 50, 0);
	fflush(stdout);
	if (fork() == 0) {
		work(made, 10, 0);
		_exit(0);
	}
	wait(&status);
	return WEXITSTATUS(status);
}
#endif
