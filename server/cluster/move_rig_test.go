package cluster

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/server/internal/handlers"
	"github.com/vigildb/vigil/structures/slots"
)

const moveSecret = "a secret of tests"

// moving is a group of one server that moves slots. Its server is this test: frames are kept as texts.
type moving struct {
	t    *testing.T
	dir  string
	port int
	of   *slots.Set // with which it begins
	with []string   // contacts
	// amid is called when keys have come, before they are taken, nil for nothing.
	amid func()
	// names are what it announces, nil for nothing.
	names func() topology.Names
	// serve responds to other servers, nil if it is asked for nothing.
	serve func(ctx context.Context, request []byte) []byte

	store  *persistence.Store
	handle *Handle
	node   *Node // of the handle
	up     bool
	later  atomic.Int64 // how much its clock is ahead
	last   struct {     // what it has begun to move
		to *moving
		of *slots.Set
	}

	mu      sync.Mutex
	frames  []string            // taken; guarded by mu
	removed []string            // slots whose keys were removed; guarded by mu
	stuck   bool                // keys are not removed now; guarded by mu
	orders  []string            // guarded by mu
	listens *slots.Set          // whose shard channels are the group's, as it was told last; guarded by mu
	told    func(of *slots.Set) // nil, or called with them; guarded by mu
}

// twoMoving returns groups that have all slots, and none.
func twoMoving(t *testing.T) (from, to *moving) {
	t.Helper()
	from = newMoving(t, slots.All())
	to = newMoving(t, nil, from.address())
	from.until("the groups know each other", func() bool {
		d, o := from.node.Division(), to.node.Division()
		return d != nil && o != nil && d.Slots.Len() == slots.Count && len(d.Others) == 1 && len(o.Others) == 1 && o.Others[0].Slots.Len() == slots.Count &&
			d.Others[0].Leader != 0 && o.Others[0].Leader != 0
	})
	return from, to
}

func newMoving(t *testing.T, of *slots.Set, contacts ...string) *moving {
	t.Helper()
	m := &moving{t: t, dir: t.TempDir(), of: of, with: contacts}
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		m.port = l.Addr().(*net.TCPAddr).Port
		l.Close()
		if m.port < 50000 {
			if l, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(m.port+10000)); err == nil {
				l.Close()
				break
			}
		}
	}
	t.Cleanup(m.stop)
	m.start()
	return m
}

func (m *moving) start() {
	m.t.Helper()
	hashes, err := topology.Hashes(moveSecret)
	if err != nil {
		m.t.Fatal(err)
	}
	environment := machineEnvironment
	environment.Now = func() time.Duration { return raftnode.Now() + time.Duration(m.later.Load()) }
	if m.handle, err = Listen(NodeConfig{Secret: moveSecret, Single: true, Port: m.port, Host: "127.0.0.1", Election: 200 * time.Millisecond, Names: m.names, Environment: &environment,
		Cluster: &ClusterConfig{Slots: m.of, Contacts: m.with, Silence: time.Minute}, Logf: func(logs.Level, string, ...any) {}}); err != nil {
		m.t.Fatal(err)
	}
	if m.store, err = persistence.Open(persistence.Options{Dir: m.dir, Databases: 1, Sync: persistence.SyncAlways, Secret: hashes, Replicator: m.handle.Replicator(),
		Now: func() int64 { return 1000 }}); err != nil {
		m.t.Fatal(err)
	}
	nothing := func() {}
	if err := m.handle.Start(m.store.Member(), false, handlers.Handlers{Lead: nothing, Follow: nothing, Leave: nothing, ShardChannels: m.listen, Asked: m.serve,
		TakeKeys: m.take, RemoveKeys: m.remove, OrderMove: m.order}); err != nil {
		m.t.Fatal(err)
	}
	m.node = m.handle.Node()
	m.up = true
	m.until("it leads", func() bool { return m.handle.Held() && m.node.Division().Name != "" })
}

// stop ends the server: the leadership ends, and another one begins with start.
func (m *moving) stop() {
	if !m.up {
		return
	}
	m.up = false
	if err := errors.Join(m.handle.Close(), m.store.Close()); err != nil {
		m.t.Error(err)
	}
}

func (m *moving) restart() {
	m.t.Helper()
	m.stop()
	m.start()
}

func (m *moving) until(what string, done func() bool) {
	m.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			m.t.Fatalf("waited in vain until %s", what)
		}
	}
}

func (m *moving) take(keys []byte, expected func() bool) error {
	if m.amid != nil {
		m.amid()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !expected() {
		return persistence.ErrNotLeader
	}
	m.frames = append(m.frames, string(keys))
	return nil
}

func (m *moving) remove(_ context.Context, of *slots.Set, allowed func() bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stuck || !allowed() {
		return persistence.ErrNotLeader
	}
	m.removed = append(m.removed, of.String())
	m.frames = nil
	return nil
}

func (m *moving) order(to string, of *slots.Set) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orders = append(m.orders, of.String()+" to "+to)
	return nil
}

func (m *moving) listen(of *slots.Set) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listens = of; m.told != nil {
		m.told(of)
	}
}

// hears waits until the shard channels of the group are those of some slots.
func (m *moving) hears(of *slots.Set) {
	m.t.Helper()
	m.until("the shard channels are those of "+of.String(), func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.listens != nil && m.listens.Equal(of)
	})
}

// sees returns the frames that have come, and how often keys were removed.
func (m *moving) sees() (frames string, removals int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.frames, " "), len(m.removed)
}

func (m *moving) id() string { return topology.GroupPublicID(moveSecret, m.node.Name()) }

func (m *moving) assignment() topology.Assignment { return m.node.roster().Assignment }

// begin begins to move slots to another group.
func (m *moving) begin(to *moving, of *slots.Set) uint64 {
	m.t.Helper()
	attempt, _, err := m.handle.BeginMove(m.t.Context(), to.id(), of)
	if err != nil {
		m.t.Fatal(err)
	}
	m.last.to, m.last.of = to, of
	return attempt
}

// told is what a server replies to a request of another group.
type told struct {
	Error, State string
	Again        bool
}

// asked returns the response of the server to a request of another group.
func (m *moving) asked(request []byte) (a told) {
	m.t.Helper()
	if reply := m.node.respondToOthers(m.t.Context(), request); json.Unmarshal(reply, &a) != nil {
		m.t.Fatalf("%q is replied to by %q", request, reply)
	}
	return a
}

// askedBy is asked what another group wants of slots.
func (m *moving) askedBy(group, what string, attempt uint64, of string) told {
	m.t.Helper()
	return m.asked(fmt.Appendf(nil, `{"What":%q,"Group":%q,"Attempt":%d,"Slots":%q}`, what, group, attempt, of))
}

// frame is a request that has keys of an attempt.
func frame(group string, attempt uint64, keys string) []byte {
	return append(binary.AppendUvarint(topology.AppendText([]byte{'K'}, group), attempt), keys...)
}

// giveAlone makes the entry by which the slots of an attempt are given away, and tells nobody.
func (m *moving) giveAlone(attempt uint64) {
	m.t.Helper()
	m.until("all keys are there", func() bool { return m.last.to.askedBy(m.node.Name(), "complete", attempt, "").Error == "" })
	m.giveWithout(attempt)
	if d := m.node.Division(); d.Slots.Both(m.last.of).Len() > 0 || topology.MoveOf(m.assignment().Given, attempt) == nil {
		m.t.Errorf("when slots are given away the division has %s, and given are %v", d.Slots, m.assignment().Given)
	}
}

// moved waits until a group has slots of another one, both are done with it, and all know.
func moved(from, to *moving, of *slots.Set) {
	from.t.Helper()
	from.until("the slots have moved", func() bool {
		f, t, seen := from.assignment(), to.assignment(), from.node.Division()
		return !f.Moving() && !t.Moving() && t.Slots.Both(of).Len() == of.Len() && f.Slots.Both(of).Len() == 0 &&
			seen.Others[0].Slots.Both(of).Len() == of.Len() && seen.Covered
	})
	if got := to.node.Division().Slots.Both(of); got.Len() != of.Len() {
		from.t.Errorf("the group that has the slots has %s by its division", got)
	}
}

// stayed waits until an attempt has left nothing.
func stayed(from, to *moving, of *slots.Set) {
	from.t.Helper()
	from.until("the attempt is forgotten", func() bool { return !from.assignment().Moving() && !to.assignment().Moving() })
	if from.assignment().Slots.Both(of).Len() != of.Len() || to.assignment().Slots.Len() != 0 {
		from.t.Errorf("the groups have %s and %s", from.assignment().Slots, to.assignment().Slots)
	}
	if frames, _ := to.sees(); frames != "" {
		from.t.Errorf("keys are left: %s", frames)
	}
}

// sticks keeps the server from removing keys, or lets it.
func (m *moving) sticks(yes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stuck = yes
}
