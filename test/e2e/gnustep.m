/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gnustep.m: makes objects of GNUstep's classes and of one of its own, and prints how many of each
 * class GNUstep itself has counted since: "counted CLASS MADE LIVE". GNUstep's headers are not
 * needed: the declarations that it uses are here.
 */
#include <stdio.h>
#include <stdlib.h>

#import <objc/runtime.h>

@interface NSObject {
	Class isa;
}
+ (id)alloc;
- (id)init;
- (void)release;
@end
@interface NSAutoreleasePool : NSObject
@end
@interface NSMutableArray : NSObject
- (void)addObject:(id)object;
- (id)copy;
@end
@interface NSMutableDictionary : NSObject
- (void)setObject:(id)object forKey:(id)key;
@end
@interface NSNumber : NSObject
+ (id)numberWithDouble:(double)value;
@end

signed char GSDebugAllocationActive(signed char);
int GSDebugAllocationCount(Class), GSDebugAllocationTotal(Class);
Class *GSDebugAllocationClassList(void);

@interface Own : NSObject {
	long members[5];
}
@end
@implementation Own
@end

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	NSAutoreleasePool *pool;

	GSDebugAllocationActive(1);
	pool = [[NSAutoreleasePool alloc] init];
	for (int i = 0; i < n; i++) {
		NSMutableArray *array = [[NSMutableArray alloc] init];
		NSMutableDictionary *names = [[NSMutableDictionary alloc] init];
		Own *own = [[Own alloc] init];
		id copy;

		[array addObject:own];
		[array addObject:[NSNumber numberWithDouble:i + 0.5]];
		copy = [array copy];
		[names setObject:copy forKey:[NSNumber numberWithDouble:i]];
		[copy release];
		[own release];
		[array release];
		if (i % 2)
			[names release];
	}
	[pool release];
	for (Class *class = GSDebugAllocationClassList(); *class; class++)
		printf("counted %s %d %d\n", class_getName(*class), GSDebugAllocationTotal(*class),
		       GSDebugAllocationCount(*class));
	return 0;
}
