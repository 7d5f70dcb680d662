// SPDX-License-Identifier: Apache-2.0
// An object that std::make_shared makes, with counts in front of it.
#include <memory>
#include <thread>

struct shared {
	long values[18];
	explicit shared(long number)
	{
		for (long &value : values)
			value = number;
	}
};
static std::shared_ptr<shared> last;

[[gnu::noinline]] static std::shared_ptr<shared> share(long number)
{
	auto made = std::make_shared<shared>(number);

	last = made;
	return made;
}

int main(int argc, char **)
{
	std::thread other([&] { share(argc); });

	other.join();
	return share(argc)->values[3] == 7;
}
