/* Preloaded into the program: the n-th operation on files below a folder fails, or is the last thing the program does.
   FAULT_FOLDER: absolute; FAULT_AT: n, from 1; FAULT: "kill" or the number of an error; FAULT_MARK: a file that is made
   when it happens and holds the operation's name. A write that fails, or is killed, has written half of its bytes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static long operations = 0;

static int is_below(const char* path) {
  const char* folder = getenv("FAULT_FOLDER");
  return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_path_watched(const char* path) {
  char whole[4096];
  if (path[0] == '/') return is_below(path);
  if (!getcwd(whole, sizeof whole - strlen(path) - 2)) return 0;
  strcat(strcat(whole, "/"), path);
  return is_below(whole);
}

static int is_fd_watched(int fd) {
  char name[64], path[4096];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(name, path, sizeof path - 1);
  if (n <= 0) return 0;
  path[n] = 0;
  return is_below(path);
}

/* Whether this is the operation to fail. */
static int is_due(const char* what) {
  const char* at = getenv("FAULT_AT");
  if (!at || __atomic_add_fetch(&operations, 1, __ATOMIC_SEQ_CST) != atol(at)) return 0;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("FAULT_MARK"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  syscall(SYS_write, fd, what, strlen(what));
  syscall(SYS_close, fd);
  return 1;
}

static int fail(void) {
  const char* how = getenv("FAULT");
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL), pause();
  errno = atoi(how);
  return -1;
}

int mkostemps(char* pattern, int end, int flags) {
  if (is_path_watched(pattern) && is_due("mkostemps")) return fail();
  return REAL(mkostemps)(pattern, end, flags);
}
int fchmod(int fd, mode_t mode) {
  if (is_fd_watched(fd) && is_due("fchmod")) return fail();
  return REAL(fchmod)(fd, mode);
}
ssize_t write(int fd, const void* bytes, size_t n) {
  if (fd > 2 && is_fd_watched(fd) && is_due("write")) {
    syscall(SYS_write, fd, bytes, n / 2);
    return fail();
  }
  return syscall(SYS_write, fd, bytes, n);
}
int fsync(int fd) {
  if (is_fd_watched(fd) && is_due("fsync")) return fail();
  return REAL(fsync)(fd);
}
int rename(const char* from, const char* to) {
  if (is_path_watched(from) && is_due("rename")) return fail();
  return REAL(rename)(from, to);
}
int unlink(const char* path) {
  if (is_path_watched(path) && is_due("unlink")) return fail();
  return REAL(unlink)(path);
}
int remove(const char* path) {
  if (is_path_watched(path) && is_due("remove")) return fail();
  return REAL(remove)(path);
}
int mkdir(const char* path, mode_t mode) {
  if (is_path_watched(path) && is_due("mkdir")) return fail();
  return REAL(mkdir)(path, mode);
}
int close(int fd) {
  /* A close that reports an error has closed. */
  int due = fd > 2 && is_fd_watched(fd) && is_due("close");
  int result = (int)syscall(SYS_close, fd);
  return due ? fail() : result;
}
