package blocking

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// Round is the time between two looks at what nobody tells of, at most.
const Round = 100 * time.Millisecond

// Client is the client of a blocked call.
type Client interface {
	// Blocked is called when the call of the client has a timer, just before it is in the queues.
	Blocked(c *Call)
	// Answer gives the client the reply of its call, which depends on the journal up to position.
	Answer(reply []byte, position uint64)
}

// Host is what blocked calls need of the server.
type Host interface {
	AfterFunc(d time.Duration, f func()) (stop func())
	// Paused reports whether no calls may be run again now.
	Paused() bool
	// Attend runs the calls that wait for a key again, where no client's command does.
	Attend(k Key)
	// Outage returns which calls may not wait on, and why, nil if all may.
	Outage() (refuse func(c *Call) error)
	// Ended counts a call that has ended without being run again, after it took so long.
	Ended(c *Call, took time.Duration, failed bool)
}

// Call is one blocked call.
type Call struct {
	Client  Client
	Command *commands.Command
	Args    [][]byte
	Keys    [][]byte // waited for
	Also    [][]byte // all keys of the call, if there are more than it waits for
	Shards  persistence.Shards
	DB      int
	Proto   int
	Silent  bool // the client wants no reply
	Caches  bool // the client may keep what the call reads

	removed bool     // see commands.Wait
	rivals  []string // likewise
	expired func(*commands.Reply)
	places  []place // in the queues of keys; guarded by Calls.mu
	arrival uint64  // grows with each call; guarded by Calls.mu
	stop    func()  // stops the timer, or the computation; nil without one; guarded by Calls.mu once in a queue
	again   func()  // stops the timer that runs the call again; nil without one; guarded by Calls.mu

	mu   sync.Mutex  // held while the call is run again, or ended: one of them wins
	done atomic.Bool // served, timed out, unblocked or cancelled
}

// Done reports whether the wait has ended.
func (c *Call) Done() bool { return c.done.Load() }

// Size is the memory of the call's arguments.
func (c *Call) Size() (n int64) {
	for _, a := range c.Args {
		n += int64(len(a)) + 24
	}
	return n
}

// Block puts a call into the queues of the keys that it waits for. The keys are locked, so
// that nothing has changed since the call ran.
func (q *Calls) Block(c *Call, wait *commands.Wait) {
	c.Keys = CopyArgs(wait.Keys)
	c.removed, c.rivals, c.expired = wait.Removed, wait.Rivals, wait.Expired
	// The timer is started before others can see that the client waits, so that
	// every visible wait has an end. A timer that fires at once finds c.mu held
	// until the call is in its queues.
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait.Millis > 0 {
		c.stop = q.host.AfterFunc(time.Duration(wait.Millis)*time.Millisecond, func() { q.TimeOut(c) })
	}
	c.Client.Blocked(c)
	again := time.Duration(wait.Again) * time.Millisecond
	if wait.Until != nil {
		q.poll(c, wait.Until, again)
	}
	q.enter(c)
	if wait.Until == nil {
		q.Remind(c, again)
	}
}

// answer ends the wait with the reply of a call that was run again, or computed.
func (c *Call) answer(reply []byte, position uint64) {
	if c.Silent {
		reply = nil
	}
	c.Client.Answer(reply, position)
}

// TimeOut ends a wait as when its time is over. It returns false if it had ended before.
func (q *Calls) TimeOut(c *Call) bool { return q.End(c, 0, false, c.expired) }

// Refuse ends a wait with an error. The call does not count as one that has failed.
func (q *Calls) Refuse(c *Call, err commands.WireError) bool {
	return q.End(c, 0, false, func(r *commands.Reply) { r.Error(err) })
}

// End ends a wait with a reply that is no result of its keys, after the call has been worked
// on for some time, and may have failed. It returns false if the wait had ended before.
func (q *Calls) End(c *Call, took time.Duration, failed bool, write func(*commands.Reply)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !q.finish(c) {
		return false
	}
	r := commands.NewReply(nil, c.Proto)
	write(&r)
	q.host.Ended(c, took, failed)
	c.answer(r.Encoded(), 0)
	return true
}

// Cancel ends the wait of a client that has left. It returns false if it had ended before.
func (q *Calls) Cancel(c *Call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return q.finish(c)
}

// Remind runs a call again after some time, in place of the time that it was given before;
// 0 is never.
func (q *Calls) Remind(c *Call, wait time.Duration) {
	if wait == 0 {
		return
	}
	q.plan(c, q.host.AfterFunc(wait, func() {
		if q.host.Paused() {
			q.Remind(c, Round)
			return
		}
		for _, key := range c.Keys {
			if c.Done() {
				return
			}
			q.host.Attend(Key{c.DB, string(key)})
		}
	}))
}

// CopyArgs copies the arguments of a call into one piece of memory.
func CopyArgs(argv [][]byte) [][]byte {
	size := 0
	for _, a := range argv {
		size += len(a)
	}
	buf := make([]byte, 0, size)
	out := make([][]byte, len(argv))
	for i, a := range argv {
		at := len(buf)
		buf = structures.Append(buf, a)
		out[i] = buf[at:len(buf):len(buf)]
	}
	return out
}
