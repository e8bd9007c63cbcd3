package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/vigildb/vigil/server"
)

// signals are those that mean something to the server. The rest: SIGPIPE is
// ignored, as Redis ignores it; Go's runtime takes SIGXFSZ, so that
// a write beyond the limit of file sizes fails with EFBIG, and SIGUSR1 and SIGUSR2,
// which would end a Redis, without effect.
type signals struct {
	// terminate and interrupt have room for one: the same signal again, before
	// the first was looked at, says nothing new. Each has a channel of its own,
	// so that a burst of one cannot hide the other.
	terminate, interrupt chan os.Signal
	// reload makes the server read the certificates again.
	reload chan os.Signal
}

func catchSignals() *signals {
	s := &signals{terminate: make(chan os.Signal, 1), interrupt: make(chan os.Signal, 1), reload: make(chan os.Signal, 1)}
	signal.Ignore(syscall.SIGPIPE)
	signal.Notify(s.reload, syscall.SIGHUP)
	signal.Notify(s.terminate, syscall.SIGTERM)
	signal.Notify(s.interrupt, syscall.SIGINT)
	return s
}

// leave ends the process at once at the first signal, until what it returns is
// called: before the store is open there is nothing to close, and a disk that
// hangs must not keep the server from receiving signals.
func (s *signals) leave(log *slog.Logger) (opened func()) {
	open, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-s.terminate:
		case <-s.interrupt:
		case <-open:
			return
		}
		log.Warn("Received shutdown signal before the store was open, exiting now.")
		os.Exit(0)
	}()
	return func() { close(open); <-ended }
}

// forget drops what came before the end began: a SIGINT together with a SIGTERM is
// no second one.
func (s *signals) forget() {
	for _, c := range []chan os.Signal{s.terminate, s.interrupt} {
		select {
		case <-c:
		default:
		}
	}
}

// insist ends the process at once at a SIGINT while it is ending already: only
// somebody at a terminal can mean that. SIGTERM says nothing new then, however
// often it comes, since supervisors repeat it. It ends with the process, or when
// stop is closed.
func (s *signals) insist(srv *server.Server, log *slog.Logger, stop <-chan struct{}) {
	for {
		select {
		case <-s.interrupt:
			if n := srv.Unsynced(); n > 0 {
				log.Warn(fmt.Sprintf("%d acknowledged changes are not on the device, and may be lost", n))
			}
			log.Warn("You insist... exiting now.")
			os.Exit(1)
		case <-s.terminate:
		case <-stop:
			return
		}
	}
}
