package raftnode

import (
	"errors"
	"io"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/member"
)

var errCutShort = errors.New("cut short")

// pieceBytes is how much of a state travels at once.
const pieceBytes = 700

// parcel is a state on its way from a member to another one.
type parcel struct {
	from, to *node
	lives    [2]int // of both
	message  *raftpb.Message
	state    io.ReadCloser
	in       *member.Import
}

// SendSnapshot implements [SnapshotSender]: pieces arrive one after the other, and the first that is lost ends it.
func (n *node) SendSnapshot(m *raftpb.Message, state io.ReadCloser) {
	w := n.w
	w.note("%d sends %d to %d", n.id, m.GetSnapshot().GetMetadata().GetIndex(), m.GetTo())
	p := &parcel{from: n, message: m, state: state, lives: [2]int{n.life, -1}}
	if m.GetTo() < uint64(len(w.nodes)) {
		p.to = w.nodes[m.GetTo()]
		p.lives[1] = p.to.life
	}
	w.after(w.delay(), p.move)
}

func (w *world) delay() time.Duration {
	return time.Millisecond + time.Duration(w.rand.ExpFloat64()*float64(2*time.Millisecond))
}

// move brings the next piece.
func (p *parcel) move() {
	w := p.from.w
	if p.to == nil || p.from.life != p.lives[0] || p.to.life != p.lives[1] || !p.to.up ||
		w.cut[p.from.id][p.to.id] || w.cut[p.to.id][p.from.id] || w.rand.Float64() < w.loss/10 {
		p.end(errCutShort)
		return
	}
	if p.to.paused > w.now {
		w.after(p.to.paused-w.now+1, p.move)
		return
	}
	if p.in == nil {
		var err error
		if p.in, err = p.to.store.Member().Receive(); err != nil {
			p.end(err)
			return
		}
	}
	piece := make([]byte, pieceBytes)
	k, err := io.ReadFull(p.state, piece)
	if _, e := p.in.Write(piece[:k]); e != nil {
		p.end(e)
		return
	}
	switch {
	case err == nil:
		w.after(w.delay(), p.move)
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		if err = p.in.Finish(); err == nil {
			p.arrive()
			return
		}
		p.end(err)
	default:
		p.end(err)
	}
}

// arrive hands the state over.
func (p *parcel) arrive() {
	in, to := p.in, p.to
	p.in = nil
	applied := to.store.Member().Applied()
	if err := to.driver.Install(to.clock(), p.message, in); err != nil {
		to.w.Errorf("member %d: %v", to.id, err)
	}
	to.work()
	if to.up && to.store.Member().Applied() >= in.Index && in.Index > applied {
		to.w.effects["state taken in"]++
	}
	p.end(nil)
}

// end tells the sender the result.
func (p *parcel) end(err error) {
	w := p.from.w
	if p.in != nil {
		w.effects["state cut short"]++
		if p.to.life == p.lives[1] && p.to.up {
			_ = p.in.Close() // of a disk that may fail
		}
	}
	if p.from.life != p.lives[0] {
		return
	}
	if e := p.state.Close(); e != nil {
		w.Errorf("member %d: %v", p.from.id, e)
	}
	w.after(w.delay(), func() {
		p.from.when(p.lives[0], func() {
			p.from.driver.SnapshotSent(p.from.clock(), p.message.GetTo(), err)
			p.from.work()
		})
	})
}

// lagging returns a group that has cut off what one of its members lacks.
func lagging(t testing.TB, seed uint64, policy persistence.SyncPolicy) (w *world, lags *node) {
	t.Helper()
	w = newWorldWith(t, seed, policy, rules{}, members, true)
	n := w.elected()
	w.write(n, "a")
	w.run(2 * timeout)
	n = w.elected()
	lags = w.nodes[n.id%members+1]
	w.isolate(lags, true)
	w.until("the log is cut off", func() bool {
		if l := w.leader(); l != nil {
			w.ask(l.id, "b", true)
			first, _ := l.store.Member().Log().Bounds()
			_, last := lags.store.Member().Log().Bounds()
			return first > last+1
		}
		return false
	})
	return w, lags
}

// deposedTail sends the state to a former leader whose log is longer than what the others have committed since. Nothing of
// that log may be left.
func deposedTail(t testing.TB, seed uint64) *world {
	t.Helper()
	w := newWorldWith(t, seed, persistence.SyncAlways, rules{}, members, true)
	n := w.elected()
	w.write(n, "a")
	w.isolate(n, true)
	for n.serves() {
		w.ask(n.id, "b", true)
		w.run(tick / 50)
	}
	_, tail := n.store.Member().Log().Bounds()
	written := false
	w.until("the log is cut off", func() bool {
		l := w.leader()
		if l == nil {
			return false
		}
		if !written {
			l.transact("large", func(tx *persistence.Tx, a, b []byte) { // a single entry, of more than is kept
				tx.SetString(a, make([]byte, 4<<10), persistence.NoExpiry)
				tx.Commit()
			})
			l.work()
			written = true
		}
		first, _ := l.store.Member().Log().Bounds()
		return first > n.store.Member().Applied()+1
	})
	if _, last := w.elected().store.Member().Log().Bounds(); last >= tail {
		w.Fatalf("seed %d: the deposed leader's log ends with entry %d, and the others' with %d", seed, tail, last)
	}
	w.isolate(n, false)
	w.until("it has the state", func() bool { return w.effects["state taken in"] > 0 })
	n.stop(true)
	n.start()
	w.settle()
	return w
}
