/*
 * Runs one program's own main() many times without starting the program again.
 *
 * Loaded by LD_PRELOAD. Each line of standard input is the last argument of one more run; the run
 * happens in a forked child, so every one finds the program as it was before main(). "@ LINE" is
 * written before a run's output. Under an emulated CPU, starting udevadm costs many times what
 * udevadm then does; nothing about what it does is changed here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*main_function)(int, char **, char **);
typedef int (*start_function)(main_function, int, char **, void *, void *, void *, void *);

static main_function program;

static int every_line(int argc, char **argv, char **environment) {
    char line[4096];

    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        dprintf(STDOUT_FILENO, "@ %s\n", line);
        pid_t child = fork();
        if (child == 0) {
            argv[argc - 1] = line;
            exit(program(argc, argv, environment));
        }
        int status = -1;
        if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
            dprintf(STDOUT_FILENO, "! died, status %d\n", status);
    }
    return 0;
}

int __libc_start_main(main_function main, int argc, char **argv, void *init, void *fini,
                      void *rtld_fini, void *stack_end) {
    start_function start = (start_function)dlsym(RTLD_NEXT, "__libc_start_main");

    program = main;
    unsetenv("LD_PRELOAD");
    return start(every_line, argc, argv, init, fini, rtld_fini, stack_end);
}
