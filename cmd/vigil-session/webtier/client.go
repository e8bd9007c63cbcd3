package webtier

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

const (
	defaultBudget  = 100 * time.Millisecond
	defaultWaiting = 4096

	// expiry is also the expiry that the microservice gives to an answer.
	expiry = 500 * time.Millisecond
	// grace is what a command gets beyond the budget before its connection is
	// given up, if the pool obeys contexts: a server that is slow for a moment
	// is not to be met with a new connection for every page besides.
	grace = time.Second
	// shortest is the least that BLPOP is asked to wait: 0 is forever.
	shortest = time.Millisecond
)

// Options say what the zero value does not.
type Options struct {
	// Prefix and Async are the first parts of channels and lists: "ss", "async".
	Prefix, Async string
	// Budget is how long a page waits: 100 ms. It must be below the pool's
	// ReadTimeout.
	Budget time.Duration
	// Waiting bounds the requests under way at once, 4,096, those included that
	// their pages have given up. A page that finds no room waits for it within
	// its budget.
	Waiting int
}

// Client asks the microservice. It may be used by many goroutines.
type Client struct {
	rdb     redis.UniversalClient
	names   wire.Names
	budget  time.Duration
	waiting chan struct{} // capacity Options.Waiting: one element for each request under way
}

// New returns a client on rdb. Each request that waits holds one connection of
// rdb, so rdb should not be the pool that a page needs for anything else. Pool
// makes options that suit.
func New(rdb redis.UniversalClient, opts Options) *Client {
	return &Client{
		rdb:     rdb,
		names:   wire.Names{Prefix: opts.Prefix, Async: opts.Async},
		budget:  cmp.Or(opts.Budget, defaultBudget),
		waiting: make(chan struct{}, cmp.Or(opts.Waiting, defaultWaiting)),
	}
}

// Pool returns a copy of o for a client that waits: as many connections as
// requests wait at once, with small buffers, since most hold one short answer;
// no second attempt, since a page view published twice would count twice;
// limits of time that are obeyed while reading; and RESP2, unless o says
// otherwise, which costs the library less.
func Pool(o *redis.Options, waiting int) *redis.Options {
	p := *o
	p.Protocol = cmp.Or(o.Protocol, 2)
	p.PoolSize = waiting
	p.MaxRetries = -1
	p.DialerRetries = 1
	p.ContextTimeoutEnabled = true
	p.ReadBufferSize = cmp.Or(o.ReadBufferSize, 4<<10)
	p.WriteBufferSize = cmp.Or(o.WriteBufferSize, 4<<10)
	return &p
}

// Tell publishes and returns without waiting for an answer. It takes no longer
// than the budget. ErrDegraded says that nothing may come of it.
func (c *Client) Tell(ctx context.Context, command, session, payload string) error {
	_, err := c.within(ctx, command, session, func(ctx context.Context, r *request) ([]byte, error) {
		return nil, c.publish(ctx, r, payload)
	})
	return err
}

// Ask publishes and waits for the answer, a JSON text. It takes no longer than
// the budget, regardless of the store and the microservice, and no longer than
// ctx. Errors:
//   - ErrDegraded (errors.Is) if there is no answer in time, no subscriber, or
//     the store is down; ctx's own error is wrapped beside it if ctx ended;
//   - wire.ErrMalformed for a session or command that is empty, too long or
//     holds a colon.
func (c *Client) Ask(ctx context.Context, command, session, payload string) ([]byte, error) {
	return c.within(ctx, command, session, func(ctx context.Context, r *request) ([]byte, error) {
		if err := c.publish(ctx, r, payload); err != nil {
			return nil, err
		}
		return c.await(ctx, r)
	})
}

// request is one request under way.
type request struct {
	wire.Request
	deadline time.Time   // when its page leaves
	heard    atomic.Bool // by a microservice, as PUBLISH reported
}

// within runs do for a new request, and abandons it when the time is up: a
// command that was sent cannot be taken back, and the connection is of use
// again only after its reply. do keeps its place among those waiting until
// then, which bounds what a store that is stuck can pile up here.
func (c *Client) within(ctx context.Context, command, session string,
	do func(context.Context, *request) ([]byte, error)) ([]byte, error) {
	r := &request{Request: wire.Request{Command: command, Session: session, ID: rand.Text()}, deadline: time.Now().Add(c.budget)}
	if err := r.Check(); err != nil {
		return nil, err
	}
	limited, cancel := context.WithDeadline(ctx, r.deadline)
	defer cancel()
	select {
	case c.waiting <- struct{}{}:
	case <-limited.Done():
		return nil, outOfTime(ctx, ErrBusy)
	}
	type result struct {
		answer []byte
		err    error
	}
	done := make(chan result, 1) // so that do can end when its result is no longer awaited
	go func() {                  // ends with its commands: grace, or the pool's ReadTimeout, limits them
		defer func() { <-c.waiting }()
		patient, cancel := context.WithDeadline(context.WithoutCancel(ctx), r.deadline.Add(grace))
		defer cancel()
		answer, err := do(patient, r)
		done <- result{answer, err}
	}()
	select {
	case got := <-done:
		return got.answer, got.err
	case <-limited.Done():
	}
	if r.heard.Load() {
		return nil, outOfTime(ctx, ErrNoAnswer)
	}
	return nil, outOfTime(ctx, fmt.Errorf("%w: not within the budget", ErrStore))
}

// outOfTime is err, and the error of the caller's context if that has ended.
func outOfTime(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// publishing is a PUBLISH that go-redis must not send again after an error: the
// first may have been heard.
type publishing struct{ *redis.IntCmd }

func (publishing) NoRetry() bool { return true }

func (c *Client) publish(ctx context.Context, r *request, payload string) error {
	cmd := redis.NewIntCmd(ctx, "publish", c.names.Channel(r.Request), payload)
	if err := c.rdb.Process(ctx, publishing{cmd}); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	if cmd.Val() == 0 {
		return ErrNoSubscriber
	}
	r.heard.Store(true)
	return nil
}

// await takes the answer from the list of r. The server ends the wait when the
// page leaves.
func (c *Client) await(ctx context.Context, r *request) ([]byte, error) {
	left := time.Until(r.deadline)
	if left < shortest {
		return nil, ErrNoAnswer
	}
	list := c.names.List(r.Request)
	cmd := redis.NewStringSliceCmd(ctx, "blpop", list, fmt.Sprintf("%.3f", left.Seconds()))
	err := c.rdb.Process(ctx, cmd)
	if errors.Is(err, redis.Nil) {
		// An answer may have come since. In the paper the serving layer sets
		// the expiry as well, in case the microservice does not.
		c.rdb.PExpire(ctx, list, expiry)
		return nil, ErrNoAnswer
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	if got := cmd.Val(); len(got) == 2 && got[0] == list {
		return []byte(got[1]), nil
	}
	return nil, fmt.Errorf("%w: reply of another list", ErrAnswer)
}
