package raftnode

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/grouplog"
)

// node is a member: a store, its driver and its clients.
type node struct {
	w    *world
	id   uint64
	rate float64 // of its clock
	fs   *disktest.Disk
	disk brokenDisk
	boot uint64 // of its machine

	store   *persistence.Store
	replica *Replica
	driver  *Driver
	commit  persistence.Task
	pass    persistence.Task
	waiters []waiter
	newest  uint64 // position of its last write

	version uint64            // newest level that it knows; 0 for that of this version
	told    map[uint64]uint64 // what others have said of that

	life   int // counts starts; events of an earlier life do nothing
	up     bool
	gone   bool          // with its disk, or for good
	doomed bool          // it ends with an error that is no disk's
	ended  error         // with which it has
	lost   bool          // it may have lost what it acknowledged
	paused time.Duration // until then
	lag    time.Duration // that its disk takes now
}

type waiter struct {
	position uint64
	until    time.Duration // the client waits
	reply    func(outcome)
}

// brokenDisk fails what writes.
type brokenDisk struct{ broken atomic.Bool }

func (d *brokenDisk) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileWrite, errorfs.OpCreate, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		if d.broken.Load() {
			return syscall.EIO
		}
	}
	return nil
}

func (d *brokenDisk) String() string { return "broken disk" }

func newNode(w *world, id uint64) *node {
	return &node{w: w, id: id, rate: 1 + 0.1*w.rand.Float64(), fs: disktest.New()}
}

func (n *node) clock() time.Duration { return time.Duration(float64(n.w.now) * n.rate) }

func (n *node) start() {
	w := n.w
	w.note("start %d", n.id)
	n.life++
	n.up, n.newest, n.told = true, 0, map[uint64]uint64{}
	n.disk.broken.Store(false)
	proposals := new(Proposals)
	var err error
	var boot [16]byte
	binary.LittleEndian.PutUint64(boot[:], 1+n.boot)
	n.store, err = persistence.Open(persistence.Options{FS: errorfs.Wrap(n.fs, &n.disk), Dir: "db", Databases: 1, IdleAfter: -1,
		Sync: w.policy, Seed: n.id, JournalBound: w.bound, Tail: w.tail, Replicator: proposals,
		Boot: boot, SegmentBytes: 16 << 10, DerivedMaxMemory: 64 << 20, NewestLevel: n.version, Now: func() int64 { return 1000 },
		Background: func(t persistence.Task) {
			switch t.Name {
			case "commit":
				n.commit = t
			case "materialise":
				n.pass = t
			}
		}})
	if err == nil {
		n.replica, err = OpenReplica(n.store.Member(), w.founding(n), w.policy != persistence.SyncAlways)
	}
	if err == nil {
		if w.without.forgottenMembers && n.replica.Members().Index > uint64(w.founders) {
			n.replica.members = w.foundingMembers()
		}
		n.driver, err = New(Config{ID: n.id, Tick: tick, Election: election, Log: n.replica, Machine: versioned{n.replica, n}, Mesh: n, Sender: n,
			NewestLevel: n.levelOf, Logger: quiet(), Proposals: proposals, Without: w.without.Rules}, n.clock())
	}
	if errors.Is(err, ErrLevel) && n.version != 0 {
		n.refuseVersion()
		return
	}
	if err != nil {
		w.Fatalf("member %d: %v", n.id, err)
	}
	n.tick(n.life)
	n.work()
}

// stop ends a member, in order or as if power failed.
func (n *node) stop(inOrder bool) {
	switch {
	case !n.leave():
	case inOrder && !n.disk.broken.Load():
		if err := errors.Join(n.replica.Close(), n.store.Close()); err != nil {
			n.w.Errorf("member %d: close: %v", n.id, err)
		}
	default:
		n.endOn(n.fs.CrashClone(vfs.CrashCloneCfg{}))
		n.boot++
		n.lost = n.w.policy != persistence.SyncAlways
		n.w.effects["power failure"]++
	}
}

// die ends the process of a member, as kill -9 does. Its machine goes on, with what it was given.
func (n *node) die() {
	if !n.leave() {
		return
	}
	n.endOn(n.fs.DeathClone("db/log", vfs.CrashCloneCfg{}))
	n.w.effects["death"]++
}

// leave stops the member, and ends the waits of its clients. It reports whether it was up.
func (n *node) leave() bool {
	if !n.up {
		return false
	}
	n.w.note("stop %d", n.id)
	n.up = false
	n.life++
	for _, x := range n.waiters {
		x.reply(unknown)
	}
	n.waiters = nil
	return true
}

// endOn ends the store, and keeps a disk.
func (n *node) endOn(fs *disktest.Disk) {
	_ = n.store.Close() // of the disk that is gone
	n.fs = fs
}

// fails reports whether a member may lose entries now: no other one has.
func (w *world) fails(n *node) bool {
	for _, o := range w.nodes[1:] {
		if o.up && !o.replica.Lost() && !o.disk.broken.Load() {
			o.lost = false
		}
		if o != n && o.lost {
			return false
		}
		if o.gone && w.counts(o) {
			return w.policy == persistence.SyncAlways
		}
	}
	return w.policy == persistence.SyncAlways || !w.sparse()
}

func (n *node) tick(life int) {
	n.w.after(time.Duration(float64(tick)/n.rate)+1, func() {
		n.when(life, func() {
			if err := n.driver.Advance(n.clock()); err != nil {
				n.w.Fatal(err)
			}
			n.driver.Renew(n.clock())
			n.work()
			if n.up && n.w.rand.IntN(20) == 0 && (n.driver.Leading() == 0 || n.store.Commits().Confirmed(n.newest)) {
				n.pass.Step(false)
			}
			n.tick(life)
		})
	})
}

// when does something in this life of the member, after its pause.
func (n *node) when(life int, do func()) {
	if n.life != life || !n.up {
		return
	}
	if n.paused > n.w.now {
		n.w.after(n.paused-n.w.now, func() { n.when(life, do) })
		return
	}
	do()
}

// work does what is due. A member whose disk fails starts again, later.
func (n *node) work() {
	w := n.w
	if !n.up {
		return
	}
	if w.slow {
		n.lag = time.Duration(w.rand.ExpFloat64() * float64(5*time.Millisecond))
	}
	leading, lost := n.driver.Leading(), n.replica.Lost()
	n.commit.Step(w.rand.IntN(20) == 0)
	err := n.driver.Work()
	if leading != 0 && n.driver.Leading() != leading {
		w.effects["deposed"]++
		if !n.store.Commits().Confirmed(n.newest) {
			w.effects["roll back"]++
		}
		n.newest = 0
	}
	if lost && !n.replica.Lost() {
		w.effects["caught up"]++
	}
	n.paused, n.lag = max(n.paused, w.now+n.lag), 0
	if err == nil {
		n.confirm()
		return
	}
	if n.ended = err; errors.Is(err, ErrLevel) && n.version != 0 && !n.doomed {
		n.stopVersion()
		return
	}
	if n.doomed {
		n.stop(false)
		return
	}
	if !n.disk.broken.Load() || errors.Is(err, grouplog.ErrCorrupt) {
		w.Errorf("member %d: %v", n.id, err)
	}
	w.effects["disk failure"]++
	n.stop(false)
	w.after(200*time.Millisecond, func() {
		if !n.up && !n.gone {
			n.start()
		}
	})
}

// confirm replies to those whose records are committed. Those of a former leadership
// wait on: their positions must not be confirmed by records of others.
func (n *node) confirm() {
	kept := n.waiters[:0]
	for _, x := range n.waiters {
		switch {
		case n.store.Commits().Confirmed(x.position):
			x.reply(done)
		case n.w.now > x.until:
			x.reply(unknown)
		default:
			kept = append(kept, x)
		}
	}
	n.waiters = kept
}

// serves reports whether the member may reply to reads.
func (n *node) serves() bool {
	return n.up && n.paused <= n.w.now && n.driver.Leading() != 0 && n.driver.Lease(n.clock())
}

// transact runs f with both keys that a list lies under locked.
func (n *node) transact(key string, f func(tx *persistence.Tx, a, b []byte)) {
	a, b := []byte(key), []byte(key+" too")
	var set persistence.Shards
	set.Add(n.store.Hash(a))
	set.Add(n.store.Hash(b))
	set.Add(n.store.Hash(newForm))
	tx := n.store.NewTx()
	if !tx.Lock(&set, 1000) {
		n.w.Fatal("not locked")
	}
	defer tx.Unlock()
	f(tx, a, b)
}

func (n *node) list(tx *persistence.Tx, key []byte) (list []uint32) {
	b, _, err := tx.String(key)
	if err != nil {
		n.w.Fatal(err)
	}
	for ; len(b) > 0; b = b[4:] {
		list = append(list, binary.LittleEndian.Uint32(b))
	}
	return list
}

// read returns what lies under both keys, and the position on which that depends.
func (n *node) read(key string) (list, other []uint32, seen uint64) {
	n.transact(key, func(tx *persistence.Tx, a, b []byte) {
		list, other = n.list(tx, a), n.list(tx, b)
		seen = tx.Seen()
	})
	return list, other, seen
}

// execute runs an operation; reply is called once, now or later.
func (n *node) execute(op *operation, reply func(outcome)) {
	if n.driver.Leading() == 0 || !op.write && !n.driver.Lease(n.clock()) {
		reply(refused)
		return
	}
	position := uint64(0)
	n.transact(op.key, func(tx *persistence.Tx, a, b []byte) {
		list, other := n.list(tx, a), n.list(tx, b)
		if len(list) != len(other) {
			n.w.Errorf("member %d: half of a transaction: %v and %v", n.id, list, other)
		}
		if op.list = list; op.write {
			op.list = append(list, op.id)
			var value []byte
			for _, id := range op.list {
				value = binary.LittleEndian.AppendUint32(value, id)
			}
			tx.SetString(a, value, persistence.NoExpiry)
			tx.SetString(b, value, persistence.NoExpiry)
			if n.version != 0 && tx.Require(persistence.LevelTold) == nil {
				tx.SetString(newForm, value, persistence.NoExpiry)
				n.w.effects["new form"]++
			}
			n.newest = tx.Commit()
			position = n.newest
		}
		if !n.w.without.readUncommitted {
			position = max(position, tx.Seen())
		}
	})
	if op.write && n.w.without.replyAtOnce {
		position = 0
	}
	n.waiters = append(n.waiters, waiter{position, n.w.now + patience, reply})
}
