package cluster

import (
	"errors"
	"io"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// stateRate is how many bytes of a state a leader sends a second at most: clients go on meanwhile.
const stateRate = 256 << 20

// Carry implements [Courier]: a goroutine sends the state, and tells the driver how that went.
func (r *Runner) Carry(m *raftpb.Message, state io.ReadCloser) {
	r.carriers.Go(func() {
		meta, begin := m.GetSnapshot().GetMetadata(), r.config.Now()
		r.config.Logf(LogInfo, "member %d lacks what the log has no more: it gets the state as of entry %d", m.GetTo(), meta.GetIndex())
		err := errors.Join(r.config.SendState(r.ctx, m, state), state.Close())
		took := (r.config.Now() - begin).Round(time.Millisecond)
		if err == nil {
			r.config.Logf(LogInfo, "member %d has got the state as of entry %d after %v", m.GetTo(), meta.GetIndex(), took)
		} else if r.ctx.Err() == nil {
			r.config.Logf(LogWarn, "member %d has not got the state as of entry %d, after %v: %v", m.GetTo(), meta.GetIndex(), took, err)
		}
		r.ask(func() { r.driver.Carried(r.config.Now(), m.GetTo(), err) })
	})
}

// ReceiveState takes the state of the group in, which has come with a message of the leader, and
// returns when the driver has it, or why it has not.
func (r *Runner) ReceiveState(m *raftpb.Message, state io.Reader) error {
	in, err := r.replica.Take(state)
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
