/* SPDX-License-Identifier: Apache-2.0 */
/* A C++ library with vtables of its own, that a C program opens and closes. */
#include <cstddef>

namespace {
struct animal {
	virtual ~animal() {}
	virtual int legs() const = 0;
};
struct bird : animal {
	int legs() const override { return 2; }
	char feathers[40];
};
struct cat : animal {
	int legs() const override { return 4; }
	char fur[104];
};
} // namespace

extern "C" __attribute__((noinline)) void *shiny_zoo_make(int kind, size_t *size)
{
	animal *made = kind ? static_cast<animal *>(new cat) : static_cast<animal *>(new bird);
	*size = kind ? sizeof(cat) : sizeof(bird);
	return made;
}

extern "C" void zoo_end(void *made)
{
	delete static_cast<animal *>(made);
}

extern "C" int zoo_legs(void *made)
{
	return static_cast<animal *>(made)->legs();
}
