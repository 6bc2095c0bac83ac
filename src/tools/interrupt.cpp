#include "tools/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

#include "builtins/host/process.h"
#include "support/interrupt.h"

namespace sheaf::tools {
namespace {

pthread_t g_user_thread;
std::atomic<int> g_unheard{0};

// One request to end often arrives as several signals: `timeout` sends its own to the program and to the group, a shell
// forwards the hangup of its terminal, systemd sends SIGHUP after SIGTERM. Signals within this time are one request.
constexpr int64_t kSameRequestNs = 1'000'000'000;
std::atomic<int64_t> g_answered_ns{-kSameRequestNs};

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

void on_interrupt() {
  g_unheard = g_interrupted ? g_unheard + 1 : 0;
  if (g_unheard >= 2) _exit(kInterruptedStatus);
  builtins::interrupt();
}

void on_request_to_end(int signal) {
  if (builtins::answer_with(signal)) {
    g_answered_ns = now_ns();
  } else if (now_ns() - g_answered_ns >= kSameRequestNs) {
    handle(signal, SIG_DFL, 0);
    raise(signal);  // delivered when this handler returns
  }
}

void on_signal(int signal) {
  if (!pthread_equal(pthread_self(), g_user_thread))
    pthread_kill(g_user_thread, signal);
  else if (signal == SIGINT)
    on_interrupt();
  else
    on_request_to_end(signal);
}

// Signals that end a program unless it handles them. Signals ignored from the start, as under nohup, stay ignored.
constexpr int kEnding[] = {SIGTERM, SIGHUP};

bool is_ignored(int signal) {
  struct sigaction now{};
  sigaction(signal, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

}  // namespace

InterruptHandler::InterruptHandler() {
  g_user_thread = pthread_self();
  handle(SIGINT, on_signal, 0);  // without SA_RESTART: wakes a program that waits for input
  for (int signal : kEnding)
    if (!is_ignored(signal)) handle(signal, on_signal, SA_RESTART);
}

InterruptHandler::~InterruptHandler() {
  handle(SIGINT, SIG_IGN, 0);
  for (int signal : kEnding)
    if (!is_ignored(signal)) handle(signal, SIG_DFL, 0);
}

}  // namespace sheaf::tools
