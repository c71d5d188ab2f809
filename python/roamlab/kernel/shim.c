/* Preloaded into the kernel's program. It takes the machine's randomness out of it, ends it with its simulator, and
 * lets it run on processors whose registers it does not know.
 *
 * getrandom(2), its only source of randomness, becomes a sequence that starts from ROAMLAB_SEED. Its addresses are the
 * same in every run: its memory begins behind its own heap, and sizes of buffers follow the memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
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

/* The kernel keeps the extended registers of its process (AVX and later) in 2696 bytes, and writes them back with that size.
 * A machine takes its own whole size alone, which is larger with AMX. What is above is in its initial state here: the
 * process uses no such register. */
static long extended(enum __ptrace_request request, pid_t process, struct iovec *theirs)
{
	static unsigned char whole[65536];
	static size_t size = sizeof whole;
	struct iovec ours = { whole, size };
	size_t both = theirs->iov_len < size ? theirs->iov_len : size;
	long result;

	if (request == PTRACE_SETREGSET) {
		memcpy(whole, theirs->iov_base, both);
		memset(whole + both, 0, size - both);
	}
	result = syscall(SYS_ptrace, request, process, NT_X86_XSTATE, &ours);
	if (!result && request == PTRACE_GETREGSET) {
		size = ours.iov_len;
		memcpy(theirs->iov_base, whole, both < size ? both : size);
	}
	return result;
}

long ptrace(enum __ptrace_request request, ...)
{
	static long (*real)(enum __ptrace_request, ...);
	va_list rest;
	pid_t process;
	void *address, *data;

	va_start(rest, request);
	process = va_arg(rest, pid_t);
	address = va_arg(rest, void *);
	data = va_arg(rest, void *);
	va_end(rest);
	if ((request == PTRACE_GETREGSET || request == PTRACE_SETREGSET) && (uintptr_t)address == NT_X86_XSTATE)
		return extended(request, process, data);
	if (!real)
		real = (long (*)(enum __ptrace_request, ...))dlsym(RTLD_NEXT, "ptrace");
	return real(request, process, address, data);
}
