package service

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

const (
	// quiet is how long a subscription may say nothing before it is asked
	// whether it lives, and once more before it is given up.
	quiet = 5 * time.Second
	// parting bounds the wait for what was published before the stop.
	parting = 2 * time.Second
)

// backoff spreads instances that lost the same server.
func backoff(n int) time.Duration {
	d := min(50*time.Millisecond<<min(n, 10), 5*time.Second)
	return d/2 + rand.N(d/2)
}

// subscribe hears messages until ctx ends, and subscribes again whenever the
// connection fails.
func (s *Service) subscribe(ctx context.Context) error {
	for n, first := 0, true; ; n++ {
		began := time.Now()
		err := s.subscription(ctx)
		if s.ready.Swap(false) {
			first = false
			s.metrics.connected.Set(0)
		}
		if ctx.Err() != nil {
			return nil
		}
		s.metrics.breaks.Inc()
		if errors.Is(err, ErrNoFilters) && first {
			return err
		}
		if time.Since(began) > quiet {
			n = 0 // it worked for a while
		}
		wait := s.opts.Backoff(n)
		s.log.Warn("not subscribed", "error", err, "again_in", wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// subscription is one connection's life.
func (s *Service) subscription(ctx context.Context) error {
	set := s.settings.Load()
	if err := s.checkFilters(ctx, set); err != nil {
		return err
	}
	var patterns []string
	for _, command := range wire.Commands {
		patterns = append(patterns, set.names.Pattern(command, s.opts.Glob))
	}
	sub := s.rdb.PSubscribe(context.WithoutCancel(ctx), patterns...)
	defer sub.Close()
	heard := make(chan struct{}, 1) // one signal: something came since the last look
	ended := make(chan struct{})
	var watching sync.WaitGroup
	defer watching.Wait()
	defer close(ended)
	watching.Go(func() { s.watch(ctx, sub, patterns, heard, ended) })
	for confirmed := 0; ; {
		// No deadline: one that ends in the middle of a message would lose the
		// rest of it. watch closes the subscription instead.
		got, err := sub.Receive(context.WithoutCancel(ctx))
		if err != nil {
			return fmt.Errorf("subscription: %w", err)
		}
		select {
		case heard <- struct{}{}:
		default:
		}
		switch got := got.(type) {
		case *redis.Message:
			s.hear(got.Channel, got.Payload)
		case *redis.Subscription:
			if got.Kind == "punsubscribe" {
				if got.Count == 0 {
					return nil
				}
				continue
			}
			if confirmed++; confirmed == len(patterns) {
				s.ready.Store(true)
				s.metrics.connected.Set(1)
				s.metrics.connects.Inc()
				s.log.Info("subscribed", "server", s.rdb.Options().Addr, "sessions", s.opts.Glob, "wire", set.Wire)
			}
		}
	}
}

// watch asks a quiet subscription whether it lives, and closes it if it does
// not. When ctx ends it unsubscribes: the reply comes after everything that was
// published before.
func (s *Service) watch(ctx context.Context, sub *redis.PubSub, patterns []string, heard, ended <-chan struct{}) {
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for asked := false; ; {
		select {
		case <-ended:
			return
		case <-heard:
			asked = false
		case <-tick.C:
			if asked || sub.Ping(context.WithoutCancel(ctx)) != nil {
				sub.Close()
				return
			}
			asked = true
		case <-ctx.Done():
			if sub.PUnsubscribe(context.WithoutCancel(ctx), patterns...) == nil {
				select {
				case <-ended:
					return
				case <-time.After(parting):
				}
			}
			sub.Close()
			return
		}
	}
}

// checkFilters returns ErrNoFilters if the server knows no BF commands though
// the configuration wants them. A server that does not report them is assumed
// to.
func (s *Service) checkFilters(ctx context.Context, set *settings) error {
	ctx, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	if !set.Filters {
		// The first command shows whether the server is there.
		if err := s.rdb.Ping(ctx).Err(); err != nil {
			return err
		}
		s.log.Warn("Bloom filters are left out: combos, featured pages and notifications go by nothing")
		return nil
	}
	known, err := s.rdb.Do(ctx, "command", "info", "bf.add").Slice()
	var refusal redis.Error
	switch {
	case errors.As(err, &refusal):
		return s.rdb.Ping(ctx).Err()
	case err != nil:
		return err
	case len(known) == 0 || known[0] == nil:
		return ErrNoFilters
	}
	return nil
}
