package backup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/members"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/structures/slots"
)

// Snapshots of a whole cluster. The server that is asked has each group that has slots make one, which is a part of the whole. Before,
// no slots are on their way, and no move of them begins; each part is made only if its group still has the same slots by the same
// entry of its log. So the parts have every slot once, whatever moment each of them is of. ADR 0077.

var errNoGroup = errors.New("this server is not a member of a group")

// Cluster makes snapshots of the cluster, and the parts of this server.
type Cluster struct{ v *Snapshots }

// ClusterOf returns the cluster of a server that is a member of a group.
func ClusterOf(v *Snapshots) *Cluster { return &Cluster{v} }

const (
	// patience is how long slots may be on their way, or a group without a leader, before a snapshot is given up, and
	// pause how long it is waited in between.
	patience, pause = 30 * time.Second, 100 * time.Millisecond
	// stillFor is how long no move of slots begins after a group was asked for that.
	stillFor = 5 * time.Second
	// partPatience is how long a server may take for what it is asked, and listPatience the same for all servers at once, some of
	// which may be gone.
	partPatience, listPatience = 20 * time.Second, 5 * time.Second
)

// passing is an error after which the same may be tried again.
type passing struct{ error }

func (e passing) Unwrap() error { return e.error }

// Create makes a snapshot with a name; "" is the time. After an error what was made of it is removed.
func (c *Cluster) Create(ctx context.Context, name string) (s *members.ClusterSnapshot, err error) {
	switch {
	case name == "":
		name = c.v.Name()
	case !valid(name) || Automatic(name):
		return nil, commands.ErrSnapshotName
	}
	for end := c.v.o.Clock.Now().Add(patience); ; c.rest(ctx, pause) {
		s, err = c.try(ctx, name)
		var again passing
		if !errors.As(err, &again) || ctx.Err() != nil || c.v.o.Clock.Now().After(end) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("no snapshot of the cluster is made: %w", err)
	}
	return s, nil
}

// try tries once to make a snapshot. After an error what was made of it is removed.
func (c *Cluster) try(ctx context.Context, name string) (*members.ClusterSnapshot, error) {
	id := fmt.Sprintf("%016x", c.v.o.ID())
	w := &snapshot.Whole{Name: name, ID: id, Made: c.v.o.Clock.Now().UnixMilli()}
	shards, entries, err := c.allStill(ctx, w)
	if err != nil {
		return nil, err
	}
	s := &members.ClusterSnapshot{Name: name, ID: w.ID, Made: w.Made, Groups: len(shards), Parts: make([]members.ClusterSnapshotPart, len(shards))}
	began := c.v.o.Clock.Now()
	err = c.askShards(ctx, shards, func(i int) *Request { return &Request{What: AsksPart, Index: entries[i], Whole: w} },
		func(i int, a *Reply) error {
			for _, p := range a.Parts {
				if p.Whole.ID == w.ID && p.Group == shards[i].ID {
					s.Parts[i] = p.ClusterSnapshotPart
					return nil
				}
			}
			return errors.New("the group says nothing of its part")
		})
	if s.Within = max(c.v.o.Clock.Since(began), time.Millisecond); err == nil {
		c.v.o.Logf(false, "the snapshot %s of the cluster is complete: %d groups, within %v", name, len(shards), s.Within)
		return s, nil
	}
	late, cancel := c.within(context.WithoutCancel(ctx), listPatience)
	defer cancel()
	_, silent := c.askServers(late, &Request{What: AsksRemove, Whole: w}, func(*Reply) {})
	if len(silent) > 0 {
		c.v.o.Logf(true, "%s may have a part of the snapshot %s of the cluster, which is not complete: VIGIL.CLUSTER SNAPSHOT DELETE removes it", strings.Join(silent, ", "), name)
	}
	return nil, err
}

// allStill has no move of slots begin, and notes of which parts a snapshot is made: the groups that have slots, in the order of their
// IDs, and the entries of their logs that say so.
func (c *Cluster) allStill(ctx context.Context, w *snapshot.Whole) (shards []commands.Shard, entries []uint64, err error) {
	m := c.v.o.Membership()
	if m == nil {
		return nil, nil, errNoGroup
	}
	for _, s := range m.Shards() {
		if s.Slots.Len() > 0 {
			shards = append(shards, s)
		}
	}
	slices.SortFunc(shards, func(a, b commands.Shard) int { return strings.Compare(a.ID, b.ID) })
	entries = make([]uint64, len(shards))
	w.Parts = make([]snapshot.Part, len(shards))
	err = c.askShards(ctx, shards, func(int) *Request { return &Request{What: AsksStill} }, func(i int, a *Reply) error {
		entries[i], w.Parts[i] = a.Index, snapshot.Part{Group: shards[i].ID, Slots: a.Slots}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	all, n := new(slots.Set), 0
	for _, p := range w.Parts {
		of, err := slots.Parse(p.Slots)
		if err != nil {
			return nil, nil, fmt.Errorf("the slots of the group %s: %w", p.Group, err)
		}
		all, n = all.Union(of), n+of.Len()
	}
	switch free := slots.All().Without(all); {
	case free.Len() > 0:
		return nil, nil, passing{fmt.Errorf("the slots %s are of no group", free)}
	case n > slots.Count:
		return nil, nil, passing{errors.New("some slots are of two groups")}
	}
	return shards, entries, nil
}

// askShards asks the leaders of some groups at once. take is called with the replies, by one goroutine at a time. The error is the
// first one, with the name of the group: passing if all that went wrong is.
func (c *Cluster) askShards(ctx context.Context, shards []commands.Shard, q func(i int) *Request, take func(i int, a *Reply) error) error {
	late, cancel := c.within(ctx, partPatience)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	errs := make([]error, len(shards))
	for i := range shards {
		asked.Go(func() { // ends with late
			a, err := c.AskLeader(late, &shards[i], q(i))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				err = take(i, a)
			}
			if err != nil {
				errs[i] = fmt.Errorf("the group %s: %w", shards[i].ID, err)
			}
		})
	}
	asked.Wait()
	var first error
	for _, err := range errs {
		var again passing
		if err != nil && (first == nil || errors.As(first, &again) && !errors.As(err, &again)) {
			first = err
		}
	}
	return first
}

// AskLeader asks the leader of a group, which is looked for at its members.
func (c *Cluster) AskLeader(ctx context.Context, s *commands.Shard, q *Request) (*Reply, error) {
	var todo []string
	for i := range s.Members {
		if address := s.Members[i].Address(); i == s.Leader {
			todo = slices.Insert(todo, 0, address)
		} else {
			todo = append(todo, address)
		}
	}
	nobody := passing{errors.New("no member of it is known to lead it")}
	err := error(nobody)
	for asked := map[string]bool{}; len(todo) > 0 && ctx.Err() == nil; todo = todo[1:] {
		if asked[todo[0]] {
			continue
		}
		asked[todo[0]] = true
		a, e := c.ask(ctx, todo[0], q)
		switch {
		case e != nil:
			err = passing{e}
		case a.Error == "" && a.Group == s.ID:
			return a, nil
		case a.Error == "":
			err = passing{fmt.Errorf("%s: the server is of another group now", todo[0])}
		case a.Follows:
			if err == error(nobody) { // else it says more than this
				err = passing{fmt.Errorf("%s: %s", todo[0], a.Error)}
			}
			if a.Leader != "" {
				todo = slices.Insert(todo, 1, a.Leader)
			}
		case a.Again:
			return nil, passing{fmt.Errorf("%s: %s", todo[0], a.Error)}
		default:
			return nil, fmt.Errorf("%s: %s", todo[0], a.Error)
		}
	}
	return nil, err
}

// ask asks a server, which may be this one. It returns when ctx ends, whatever the server does.
func (c *Cluster) ask(ctx context.Context, address string, q *Request) (*Reply, error) {
	replies, failed := make(chan *Reply, 1), make(chan error, 1) // have room: nobody may wait any more
	m := c.v.o.Membership()
	own := m != nil && m.Members[m.Self].Address() == address
	c.v.o.Go(func() { // ends when the disk does, or the request: its client counts as one of the goroutines of Go
		a := new(Reply)
		if own {
			replies <- c.Serve(ctx, q)
			return
		}
		b, err := json.Marshal(q)
		if err == nil {
			b, err = c.v.o.Group.AskServer(ctx, address, b)
		}
		if err == nil {
			err = json.Unmarshal(b, a)
		}
		if err != nil {
			failed <- err
			return
		}
		replies <- a
	})
	select {
	case a := <-replies:
		return a, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s does not reply: %w", address, context.Cause(ctx))
	}
}

// askServers asks all servers of the cluster at once. take is called with the replies, by one goroutine at a time. It returns the
// addresses of those that did not do what they were asked, in order.
func (c *Cluster) askServers(ctx context.Context, q *Request, take func(a *Reply)) (all, silent []string) {
	if m := c.v.o.Membership(); m != nil {
		for _, s := range m.Shards() {
			for i := range s.Members {
				all = append(all, s.Members[i].Address())
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, address := range all {
		asked.Go(func() { // ends with ctx
			a, err := c.ask(ctx, address, q)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || a.Error != "" {
				silent = append(silent, address)
				return
			}
			take(a)
		})
	}
	asked.Wait()
	slices.Sort(silent)
	return all, silent
}

// within returns a context that ends after a time.
func (c *Cluster) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancelCause(ctx)
	stop := c.v.o.Clock.AfterFunc(d, func() { cancel(fmt.Errorf("it took longer than %v", d)) })
	return late, func() { stop(); cancel(nil) }
}

// rest waits for a time.
func (c *Cluster) rest(ctx context.Context, d time.Duration) {
	late, cancel := c.within(ctx, d)
	defer cancel()
	<-late.Done()
}

// List lists the snapshots of the cluster of which some server has a part.
func (c *Cluster) List(ctx context.Context) (all []*members.ClusterSnapshot, silent []string, err error) {
	of := map[string]*members.ClusterSnapshot{} // by their IDs
	late, cancel := c.within(ctx, listPatience)
	defer cancel()
	_, silent = c.askServers(late, &Request{What: AsksParts}, func(a *Reply) {
		for _, p := range a.Parts {
			s := of[p.Whole.ID]
			if s == nil {
				s = &members.ClusterSnapshot{Name: p.Whole.Name, ID: p.Whole.ID, Made: p.Whole.Made, Groups: len(p.Whole.Parts)}
				of[p.Whole.ID] = s
			}
			s.Parts = append(s.Parts, p.ClusterSnapshotPart)
		}
	})
	all = slices.SortedFunc(maps.Values(of), func(a, b *members.ClusterSnapshot) int {
		return cmp.Or(cmp.Compare(a.Made, b.Made), strings.Compare(a.ID, b.ID))
	})
	for _, s := range all {
		slices.SortFunc(s.Parts, func(a, b members.ClusterSnapshotPart) int {
			return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Address, b.Address))
		})
	}
	return all, silent, ctx.Err()
}

// Delete removes the parts of all snapshots of the cluster with a name.
func (c *Cluster) Delete(ctx context.Context, name string) (parts int, err error) {
	if !valid(name) {
		return 0, commands.ErrSnapshotName
	}
	late, cancel := c.within(ctx, listPatience)
	defer cancel()
	_, silent := c.askServers(late, &Request{What: AsksRemove, Whole: &snapshot.Whole{Name: name}}, func(a *Reply) { parts += a.Removed })
	switch {
	case len(silent) > 0:
		return parts, commands.Errorf("ERR %d parts are removed, and these servers have not replied, which may have others: %s", parts, strings.Join(silent, " "))
	case parts == 0:
		return 0, commands.ErrNoSnapshot
	}
	return parts, nil
}
