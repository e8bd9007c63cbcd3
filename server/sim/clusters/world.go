package clusters

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence/disktest"
)

// Report is what became of a simulation.
type Report struct {
	Violation string         // the promise that was broken, empty if none
	Trace     []string       // what happened
	Effects   map[string]int // how often what happened

	w *world
}

// Judge looks at what the clients saw. It is to be called behind the bubble, whose time passes when it takes
// long.
func (r *Report) Judge() {
	if r.Violation == "" {
		r.Violation, r.Effects["unjudged"] = r.w.judge(r.w.tags)
	}
}

// shapes are how many groups clusters have at first, and how many servers each of them. Those that are open are formed by calls, and
// their replicas go from master to master. Those that are lazy have appendfsync everysec, under which smaller groups
// may lose what they have acknowledged.
var shapes = []struct {
	groups, members int
	open, lazy      bool
}{{2, 3, false, false}, {2, 3, false, true}, {2, 3, true, false}, {3, 1, false, false}, {3, 3, false, true}, {3, 2, true, false}}

// world is a cluster, its clients, and what fails.
type world struct {
	seed   uint64
	rand   *rand.Rand // of what fails
	policy string     // appendfsync
	began  time.Time
	net    *network
	nodes  []*node
	groups [][]*node      // the same, as they are at first
	open   bool           // servers go from group to group
	tasks  sync.WaitGroup // goroutines of servers and clients
	tags   []string       // hash tags, each of another slot
	history

	mu        sync.Mutex
	trace     []string       // guarded by mu
	violation string         // guarded by mu
	effects   map[string]int // guarded by mu
	hot       int            // the tag whose slot was the last to be moved; guarded by mu
}

const (
	clients = 4
	tagged  = 10 // tags
	// fillers is how many other keys a tag has, which do not change, and fillerBytes how long their values are: so that
	// keys take a while to be copied.
	fillers, fillerBytes = 20, 8 << 10
	// few is how many keys of a tag are always written together, and many how many of the first tag: more than a move copies at a
	// time while slots are frozen.
	few, many = 2, 400
)

// Run makes the simulation of a seed, in which everything fails for some time. It is to be called in a bubble of
// testing/synctest.
func Run(seed uint64, length time.Duration) *Report {
	w := newWorld(seed)
	for _, n := range w.nodes {
		n.start()
	}
	w.form()
	w.fill()
	end := w.now() + length
	for i := range clients {
		c := newClient(w, i+1)
		w.tasks.Go(func() { c.run(end) })
	}
	w.fail(end)
	w.finish()
	for _, n := range w.nodes {
		n.stop()
	}
	w.tasks.Wait()
	w.effects["done"], w.effects["unknown"] = w.counts()
	return &Report{w.violation, w.trace, w.effects, w}
}

func newWorld(seed uint64) *world {
	w := &world{seed: seed, rand: rand.New(rand.NewPCG(seed, 0xfa11)), began: time.Now(), net: newNetwork(seed), effects: map[string]int{}}
	shape := shapes[seed%uint64(len(shapes))]
	if w.open, w.policy = shape.open, "always"; shape.lazy {
		w.policy = "everysec"
	}
	for group := range shape.groups {
		var all []*node
		for i := range shape.members {
			all = append(all, &node{w: w, group: group, id: i + 1, host: fmt.Sprintf("10.0.%d.%d", group, i+1), disk: disktest.New()})
		}
		w.groups, w.nodes = append(w.groups, all), append(w.nodes, all...)
	}
	for i := range tagged {
		w.tags = append(w.tags, tagName(i))
	}
	return w
}

// now is the time since the simulation began, and the clock of all servers.
func (w *world) now() time.Duration { return time.Since(w.began) }

// note adds a line to the trace.
func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(format, args...)
}

func (w *world) noteLocked(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%8.3f %s", w.now().Seconds(), fmt.Sprintf(format, args...)))
}

// violate records that a promise was broken. Only the first is kept.
func (w *world) violate(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
		w.noteLocked("VIOLATION: %s", w.violation)
	}
}

func (w *world) violated() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.violation != ""
}

// tag draws a tag: that of the last move half of the time.
func (w *world) tag(r *rand.Rand) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.IntN(2) == 0 {
		return w.hot
	}
	return r.IntN(len(w.tags))
}

// effect counts something that happened.
func (w *world) effect(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects[what]++
}

// at returns the server of a host, nil for none.
func (w *world) at(host string) *node {
	for _, n := range w.nodes {
		if n.host == host {
			return n
		}
	}
	return nil
}

// until waits for something, and is a violation if that does not come.
func (w *world) until(most time.Duration, what string, done func() string) {
	missing := ""
	for end := w.now() + most; w.now() < end && !w.violated(); time.Sleep(50 * time.Millisecond) {
		if missing = done(); missing == "" {
			return
		}
	}
	w.violate("in %v it does not come about that %s: %s", most, what, missing)
}

// written are the keys of a tag that change: a, b, and those that are always written together.
func written(tag string) []string {
	keys := []string{"a{" + tag + "}", "b{" + tag + "}"}
	together := few
	if tag == tagName(0) {
		together = many
	}
	for i := range together {
		keys = append(keys, fmt.Sprintf("m%d{%s}", i, tag))
	}
	return keys
}

// document is the key of a tag's JSON document.
func document(tag string) string { return "d{" + tag + "}" }

// still are the keys of a tag that do not change.
func still(tag string) (keys []string) {
	for i := range fillers {
		keys = append(keys, fmt.Sprintf("f%d{%s}", i, tag))
	}
	return keys
}

func tagName(i int) string { return fmt.Sprintf("tag%d", i) }

// fill makes the keys that do not change.
func (w *world) fill() {
	c := newClient(w, 0)
	defer c.leave()
	value := strings.Repeat("v", fillerBytes)
	for tag, name := range w.tags {
		for _, key := range still(name) {
			w.until(10*time.Second, "keys are made", func() string {
				if _, err := c.insist(tag, "SET", key, value); err != nil {
					return err.Error()
				}
				return ""
			})
		}
	}
}

// finish ends all faults, and looks at what is there.
func (w *world) finish() {
	w.note("all is well from now on")
	w.net.heal()
	for _, n := range w.nodes {
		n.start()
	}
	w.until(60*time.Second, "the cluster is whole", w.whole)
	w.until(120*time.Second, "moves end", w.settled)
	c := newClient(w, clients+1)
	for tag := range w.tags {
		for _, all := range []kind{getAll, getDocument} {
			w.until(30*time.Second, "a tag can be read", func() string {
				if !c.do(tag, input{kind: all}) {
					return w.tags[tag]
				}
				return ""
			})
		}
	}
	c.leave()
	w.until(60*time.Second, "each key is in one place", w.placed)
}

// settled says which move is not over.
func (w *world) settled() string {
	for _, n := range w.nodes {
		if moves := n.call("CLUSTER", "GETSLOTMIGRATIONS"); strings.Contains(moves, "running") || strings.Contains(moves, "queued") {
			return n.host + " has " + moves
		}
	}
	return ""
}

// placed says which key is not in one group, and there with all members.
func (w *world) placed() string {
	have, want := 0, 0
	for _, shard := range w.shards() {
		var of []string
		for _, n := range shard {
			of = append(of, n.call("DBSIZE"))
		}
		if of = slices.Compact(of); len(of) > 1 {
			return fmt.Sprintf("the servers of %s have %v keys", shard[0].host, of)
		}
		n, err := strconv.Atoi(of[0])
		if err != nil {
			return fmt.Sprintf("%s: %v", shard[0].host, err)
		}
		have += n
	}
	k := newClient(w, clients+2)
	defer k.leave()
	for tag, name := range w.tags {
		changed, err := exist(k, tag, append(written(name), document(name)))
		if err != nil {
			return fmt.Sprintf("%s is on its way: %v", name, err)
		}
		kept, err := exist(k, tag, still(name))
		if err != nil {
			return fmt.Sprintf("%s is on its way: %v", name, err)
		}
		if kept != fillers {
			w.violate("of %d keys of %s that nobody has changed or removed there are %d", fillers, name, kept)
		}
		want += changed + kept
	}
	if have != want {
		return fmt.Sprintf("the groups have %d keys, and %d can be read", have, want)
	}
	return ""
}

// exist returns how many of a tag's keys there are.
func exist(c *client, tag int, keys []string) (int, error) {
	reply, err := c.insist(tag, slices.Concat([]string{"EXISTS"}, keys)...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(reply)
}

func slotOf(tag string) int { return commands.KeySlot([]byte("a{" + tag + "}")) }
