#include "tools/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "builtins/host/process.h"
#include "support/interrupt.h"

namespace sheaf::tools {
namespace {

pthread_t g_user_thread;
std::atomic<int> g_unheard{0};

void on_interrupt(int) {
  if (!pthread_equal(pthread_self(), g_user_thread)) {
    pthread_kill(g_user_thread, SIGINT);
    return;
  }
  g_unheard = g_interrupted ? g_unheard + 1 : 0;
  if (g_unheard >= 2) _exit(kInterruptedStatus);
  builtins::interrupt();
}

void handle(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;  // without SA_RESTART: a program waiting for input wakes up
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

InterruptHandler::InterruptHandler() {
  g_user_thread = pthread_self();
  handle(on_interrupt);
}
InterruptHandler::~InterruptHandler() { handle(SIG_IGN); }

}  // namespace sheaf::tools
