/* Preloaded into the kernel's program. It takes the machine's randomness out of it and ends it with its simulator.
 *
 * getrandom(2), its only source of randomness, becomes a sequence that starts from ROAMLAB_SEED. Its addresses are the
 * same in every run: its memory begins behind its own heap, and sizes of buffers follow the memory. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

extern char **environ;
static uint64_t state;

__attribute__((constructor)) static void begin(int argc, char **argv)
{
	int now = personality(0xffffffff);

	(void)argc;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (now == -1 || now & ADDR_NO_RANDOMIZE)
		return;
	personality((unsigned long)now | ADDR_NO_RANDOMIZE);
	execve("/proc/self/exe", argv, environ);
	_exit(126);
}

ssize_t getrandom(void *buffer, size_t length, unsigned flags)
{
	unsigned char *to = buffer;

	(void)flags;
	if (!state) {
		const char *seed = getenv("ROAMLAB_SEED");
		state = 0x9e3779b97f4a7c15ull * (seed ? strtoull(seed, 0, 10) + 1 : 1) | 1;
	}
	for (size_t i = 0; i < length; i++) {
		uint64_t z = state += 0x9e3779b97f4a7c15ull; /* splitmix64 (Steele, Lea, Flood 2014) */
		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
		z = (z ^ z >> 27) * 0x94d049bb133111ebull;
		to[i] = (unsigned char)(z ^ z >> 31);
	}
	return (ssize_t)length;
}
