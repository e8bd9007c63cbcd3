package raftnode

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"

	"go.etcd.io/raft/v3/raftpb"
)

// StateRate is how many bytes of a state a leader sends a second at most: clients go on meanwhile. With 256 MiB on two processors, one
// reply in a hundred took twice as long as with this (make bench-join).
const StateRate = 160 << 20

// stateBytes counts what has come or left of states under way.
type stateBytes struct {
	to       sync.Map     // from ids to *atomic.Int64
	received atomic.Int64 // a member gets one state at a time
}

// send counts the bytes of a state for a member until done is called.
func (t *stateBytes) send(id uint64) (sent *atomic.Int64, done func()) {
	sent = new(atomic.Int64)
	t.to.Store(id, sent)
	return sent, func() { t.to.CompareAndDelete(id, sent) }
}

func (t *stateBytes) sent(id uint64) int64 {
	if n, ok := t.to.Load(id); ok {
		return n.(*atomic.Int64).Load()
	}
	return 0
}

// counted is a state whose bytes are counted as they are read.
type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// SendSnapshot implements [SnapshotSender]: a goroutine sends the state, and reports the result to the driver.
func (r *Runner) SendSnapshot(m *raftpb.Message, state io.ReadCloser) {
	r.tasks.Go(func() {
		meta, begin := m.GetSnapshot().GetMetadata(), r.config.Now()
		r.config.Logf(logs.Info, "member %d lacks what the log has no more: it gets the state as of entry %d", m.GetTo(), meta.GetIndex())
		sent, done := r.states.send(m.GetTo())
		err := errors.Join(r.config.SendState(r.ctx, m, counted{state, sent}), state.Close())
		done()
		took := (r.config.Now() - begin).Round(time.Millisecond)
		if err == nil {
			r.config.Logf(logs.Info, "member %d has got the state as of entry %d after %v", m.GetTo(), meta.GetIndex(), took)
		} else if r.ctx.Err() == nil {
			r.config.Logf(logs.Warn, "member %d has not got the state as of entry %d, after %v: %v", m.GetTo(), meta.GetIndex(), took, err)
		}
		r.ask(func() { r.driver.SnapshotSent(r.config.Now(), m.GetTo(), err) })
	})
}

// ReceiveState takes the state of the group in, which has come with a message of the leader, and
// returns when the driver has it, or why it has not.
func (r *Runner) ReceiveState(m *raftpb.Message, state io.Reader) error {
	defer r.states.received.Store(0)
	in, err := r.replica.Take(counted{state, &r.states.received})
	if err != nil {
		return err
	}
	err = ErrStopped
	r.ask(func() { err = r.driver.Install(r.config.Now(), m, in) }) // which keeps or drops it
	if errors.Is(err, ErrStopped) {
		return errors.Join(err, in.Close())
	}
	return err
}
