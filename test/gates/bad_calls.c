/* SPDX-License-Identifier: Apache-2.0 */
/* What scripts/check-calls must reject: calls that no list has, from a hook, by a pointer and in the
 * constructor, and one whose number is not known. */
#define CALL(number) \
	__asm__ volatile("mov %0, %%eax\n\tsyscall" : : "i"(number) : "rax", "rcx", "r11", "memory")

enum { GETUID = 102 };

static __attribute__((noinline)) void helper(void)
{
	CALL(GETUID);
}

static void (*const pointer[])(void) = { helper };

void bad_export(unsigned n);
void bad_export(unsigned n)
{
	pointer[n % 1]();
}

void bad_number(long number);
void bad_number(long number)
{
	__asm__ volatile("syscall" : : "a"(number) : "rcx", "r11", "memory");
}

void si_boot(void);
void si_boot(void)
{
	CALL(GETUID);
}
