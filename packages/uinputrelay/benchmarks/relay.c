/*
 * Three small programs in one, for the benchmark beside this file.
 *
 *   relay NODE FD                  the least a relay can do: read a batch, write it
 *   drive FD NODE RATE SECONDS     write frames into uinput FD at RATE events/s, read them from NODE,
 *                                  print what arrived and how long it took
 *
 * A frame is ABS_X, ABS_Y, MSC_SCAN (its number) and SYN_REPORT.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* After the last frame was sent: how long nothing has to arrive until nothing more will. */
#define QUIET_MS 400

static int relay(const char *node, int out)
{
	struct input_event batch[64];
	int in = open(node, O_RDONLY);
	ssize_t got;

	if (in < 0)
		return perror(node), 1;
	puts("ready");
	fflush(stdout);
	while ((got = read(in, batch, sizeof batch)) > 0)
		if (write(out, batch, got) != got)
			return perror("write"), 1;
	return 0;
}

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long *sent, *seen;
static long frames;
static int reader_fd;
static volatile int all_sent;

static void *read_all(void *unused)
{
	struct input_event batch[64];
	struct pollfd poll_fd = { reader_fd, POLLIN, 0 };

	(void)unused;
	while (poll(&poll_fd, 1, QUIET_MS) > 0 || !all_sent) {
		ssize_t got = poll_fd.revents ? read(reader_fd, batch, sizeof batch) : 0;
		long long at = now();
		for (ssize_t i = 0; i < got / (ssize_t)sizeof *batch; i++)
			if (batch[i].type == EV_MSC && batch[i].code == MSC_SCAN &&
			    batch[i].value >= 0 && batch[i].value < frames)
				seen[batch[i].value] = at;
	}
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;
	return (x > y) - (x < y);
}

static int drive(int out, const char *node, long rate, long seconds)
{
	pthread_t reader;
	long long start;
	long got = 0;

	frames = rate / 4 * seconds;
	sent = calloc(frames, sizeof *sent);
	seen = calloc(frames, sizeof *seen);
	reader_fd = open(node, O_RDONLY);
	if (reader_fd < 0)
		return perror(node), 1;
	pthread_create(&reader, NULL, read_all, NULL);
	start = now();
	for (long n = 0; n < frames; n++) {
		long long at = start + n * 4000000000LL / rate;
		struct timespec until = { at / 1000000000LL, at % 1000000000LL };
		struct input_event frame[4] = {
			{ .type = EV_ABS, .code = ABS_X, .value = n % 256 },
			{ .type = EV_ABS, .code = ABS_Y, .value = n % 255 },
			{ .type = EV_MSC, .code = MSC_SCAN, .value = n },
			{ .type = EV_SYN, .code = SYN_REPORT },
		};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		sent[n] = now();
		if (write(out, frame, sizeof frame) != sizeof frame)
			return perror("write"), 1;
	}
	all_sent = 1;
	pthread_join(reader, NULL);
	for (long n = 0; n < frames; n++)
		if (seen[n])
			sent[got++] = seen[n] - sent[n];
	qsort(sent, got, sizeof *sent, by_size);
	printf("{\"frames\": %ld, \"seen\": %ld, \"p50\": %lld, \"p99\": %lld}\n", frames, got,
	       got ? sent[got / 2] : -1, got ? sent[got * 99 / 100] : -1);
	return 0;
}

int main(int count, char **words)
{
	if (count == 4 && !strcmp(words[1], "relay"))
		return relay(words[2], atoi(words[3]));
	if (count == 6 && !strcmp(words[1], "drive"))
		return drive(atoi(words[2]), words[3], atol(words[4]), atol(words[5]));
	fprintf(stderr, "usage: relay NODE FD | drive FD NODE RATE SECONDS\n");
	return 2;
}
