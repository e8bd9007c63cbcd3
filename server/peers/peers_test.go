package peers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
)

type question struct {
	N int `json:",omitempty"`
}

type answer struct {
	Sum  int      `json:",omitempty"`
	Seen []string `json:",omitempty"`
}

var (
	sum  = Kind[question, answer]{What: "sum"}
	lead = Kind[question, answer]{What: "lead", Leader: true}
)

// server is one of a network, by its address.
type server struct {
	Peers
	member *commands.Membership
	fails  error
	count  int
}

// network is servers by their addresses. One that is nil never replies.
type network map[string]*server

// garbled is a server whose replies do not decode.
var garbled = new(server)

func (n network) AskServer(ctx context.Context, address string, request []byte) ([]byte, error) {
	s, known := n[address]
	switch {
	case s == garbled:
		return []byte("<html>"), nil
	case !known:
		return nil, errors.New("connection refused")
	case s == nil:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return s.Respond(ctx, request), nil
}

func address(i int) string { return fmt.Sprintf("10.0.0.%d:7000", i) }

// newNetwork returns servers of one group, the first of which leads.
func newNetwork(n int) (network, []*server, *commands.Shard) {
	net, all, shard := network{}, []*server{}, &commands.Shard{ID: "g"}
	for i := range n {
		shard.Members = append(shard.Members, commands.Member{Host: fmt.Sprintf("10.0.0.%d", i), Port: 7000, Active: true})
	}
	for i := range n {
		s := &server{member: &commands.Membership{ID: "g", Self: i, Members: shard.Members, Led: true, Leads: i == 0}}
		s.Open(Options{Network: net, Membership: func() *commands.Membership { return s.member }, Go: func(f func()) { go f() }})
		respond := func(_ context.Context, _ *commands.Membership, q *question) (*answer, error) {
			if s.count += q.N; s.fails != nil {
				return nil, s.fails
			}
			return &answer{Sum: s.count}, nil
		}
		sum.Handle(&s.Peers, respond)
		lead.Handle(&s.Peers, respond)
		net[address(i)] = s
		all = append(all, s)
	}
	return net, all, shard
}

// The form is the one that servers of earlier versions know.
func TestRequestsAndRepliesAreOneObjectEach(t *testing.T) {
	_, all, _ := newNetwork(2)
	for request, want := range map[string]string{
		`{"What":"sum","N":3,"Later":[1]}`: `{"Group":"g","Sum":3}`,
		`{"What":"lead"}`:                  `{"Group":"g","Error":"the server does not lead its group","Again":true,"Follows":true,"Leader":"10.0.0.0:7000"}`,
		`{"What":"dance"}`:                 `{"Group":"g","Error":"the server does not know what it is asked: it is of an earlier version"}`,
		`{"What":"sum","N":"3"}`:           `{"Group":"g","Error":"the request does not decode"}`,
		`{}`:                               `{"Group":"g","Error":"the server does not know what it is asked: it is of an earlier version"}`,
		`{`:                                `{"Group":"","Error":"the request does not decode"}`,
		``:                                 `{"Group":"","Error":"the request does not decode"}`,
		`["sum"]`:                          `{"Group":"","Error":"the request does not decode"}`,
	} {
		if got := string(all[1].Respond(t.Context(), []byte(request))); got != want {
			t.Errorf("%s: got %s, want %s", request, got, want)
		}
	}
	if got, err := sum.Encode(&question{7}); string(got) != `{"What":"sum","N":7}` || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := sum.Encode(&question{}); string(got) != `{"What":"sum"}` || err != nil {
		t.Errorf("without fields: %s, %v", got, err)
	}
	for _, none := range []*commands.Membership{nil, {ID: "g", Gone: true}} {
		all[1].member = none
		if got := string(all[1].Respond(t.Context(), []byte(`{"What":"sum"}`))); got != `{"Group":"","Error":"the server belongs to no group now","Again":true,"Follows":true}` {
			t.Errorf("of no group: %s", got)
		}
	}
}

func TestRefusalsSayWhetherTheyPass(t *testing.T) {
	_, all, shard := newNetwork(2)
	for _, fails := range []error{commands.Errorf("ERR no room"), Transient(commands.Errorf("ERR no room"))} {
		all[0].fails = fails
		_, err := sum.Ask(t.Context(), &all[1].Peers, address(0), &question{})
		if err == nil || err.Error() != "no room" || !errors.As(err, new(Refusal)) || IsTransient(err) != IsTransient(fails) {
			t.Errorf("%#v: got %#v", fails, err)
		}
		_, err = lead.AskLeader(t.Context(), &all[1].Peers, shard, &question{})
		if err == nil || err.Error() != "10.0.0.0:7000: no room" || IsTransient(err) != IsTransient(fails) {
			t.Errorf("%#v from the leader: %#v", fails, err)
		}
	}
	if _, err := sum.Ask(t.Context(), &all[1].Peers, address(9), &question{}); err == nil || errors.As(err, new(Refusal)) {
		t.Errorf("nobody is there: %v", err)
	}
}

// The leader is found whatever is known of it, and each member is asked once.
func TestLeaderIsLookedForAtAllMembers(t *testing.T) {
	for leader := range 3 {
		for known := -1; known < 3; known++ {
			_, all, shard := newNetwork(3)
			shard.Leader = known
			for i, s := range all {
				s.member.Leads, s.member.Leader = i == leader, leader
				if i == 1 {
					s.member.Led = false // it has not heard of it
				}
			}
			a, err := lead.AskLeader(t.Context(), &all[2].Peers, shard, &question{N: 5})
			if err != nil || a.Sum != 5 || all[leader].count != 5 {
				t.Errorf("leader %d, known as %d: %+v, %v; it was asked for %d", leader, known, a, err, all[leader].count)
			}
		}
	}
}

func TestGroupWithoutALeaderIsATransientError(t *testing.T) {
	for want, spoil := range map[string]func(net network, all []*server){
		"10.0.0.0:7000: the server does not lead its group": func(_ network, all []*server) { all[0].member.Leads, all[0].member.Leader = false, 1 },
		"connection refused": func(net network, _ []*server) { clear(net) },
		"10.0.0.0:7000: the server is of another group now": func(_ network, all []*server) { all[0].member.ID = "h" },
		"10.0.0.0:7000: the server belongs to no group now": func(_ network, all []*server) { all[0].member = nil },
		"invalid character":                   func(net network, _ []*server) { net[address(0)] = garbled },
		"no member of it is known to lead it": nil,
	} {
		net, all, shard := newNetwork(2)
		shard.Members = shard.Members[:1]
		if spoil == nil {
			shard.Members = nil
		} else {
			spoil(net, all)
		}
		if _, err := lead.AskLeader(t.Context(), &all[1].Peers, shard, &question{}); err == nil || !strings.Contains(err.Error(), want) || !IsTransient(err) {
			t.Errorf("got %v, want a transient error with %q", err, want)
		}
	}
}

// A server that does not reply keeps nobody waiting longer than its context.
func TestNobodyWaitsLongerThanItsContext(t *testing.T) {
	net, all, _ := newNetwork(2)
	net[address(0)] = nil
	late := errors.New("it took too long")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	if _, err := sum.Ask(ctx, &all[1].Peers, address(0), &question{}); !errors.Is(err, late) {
		t.Errorf("got %v", err)
	}
	stuck := make(chan struct{})
	defer close(stuck)
	all[1].kinds["sum"] = kind{serve: func(context.Context, *commands.Membership, []byte) (any, error) { <-stuck; return nil, nil }}
	if _, err := sum.Ask(ctx, &all[1].Peers, address(1), &question{}); !errors.Is(err, late) {
		t.Errorf("of itself: %v", err)
	}
}

func TestAllServersAreAskedOnce(t *testing.T) {
	net, all, _ := newNetwork(4)
	all[1].fails = errors.New("broken")
	delete(net, address(2))
	total := 0
	silent, err := sum.AskAll(t.Context(), &all[0].Peers, &question{N: 2}, func(a *answer) { total += a.Sum })
	if want := []string{address(1), address(2)}; err != nil || !slices.Equal(silent, want) || total != 4 {
		t.Errorf("%q are silent, %v; want %q; the others reply %d", silent, err, want, total)
	}
	all[0].member = nil
	if silent, err := sum.AskAll(t.Context(), &all[0].Peers, &question{}, nil); len(silent) > 0 || err != nil {
		t.Errorf("of no group: %q, %v", silent, err)
	}
}

// The error of several groups is the one that does not pass, if there is one: the whole is not tried again for another.
func TestErrorOfSeveralGroupsIsTheLastingOne(t *testing.T) {
	_, all, shard := newNetwork(3)
	var shards []commands.Shard
	for i := range all {
		all[i].member.Leads, all[i].member.ID = true, fmt.Sprint("g", i)
		shards = append(shards, commands.Shard{ID: all[i].member.ID, Members: shard.Members[i : i+1]})
	}
	ask := func() (sums []int, err error) {
		sums = make([]int, len(shards))
		err = lead.AskLeaders(t.Context(), &all[0].Peers, shards, func(i int) *question { return &question{N: i} }, func(i int, a *answer) error {
			sums[i] = a.Sum
			return nil
		})
		return sums, err
	}
	if sums, err := ask(); fmt.Sprint(sums) != "[0 1 2]" || err != nil {
		t.Errorf("got %d, %v", sums, err)
	}
	all[0].fails = Transient(errors.New("busy"))
	if _, err := ask(); !IsTransient(err) || err.Error() != "the group g0: 10.0.0.0:7000: busy" {
		t.Errorf("got %v", err)
	}
	all[2].fails = errors.New("broken")
	if _, err := ask(); IsTransient(err) || err.Error() != "the group g2: 10.0.0.2:7000: broken" {
		t.Errorf("got %v", err)
	}
}

// What cannot be written as JSON is an error of the server that replies.
func TestReplyWithoutAFormIsAnError(t *testing.T) {
	_, all, _ := newNetwork(2)
	all[0].kinds["sum"] = kind{serve: func(context.Context, *commands.Membership, []byte) (any, error) { return struct{ F func() }{}, nil }}
	if _, err := sum.Ask(t.Context(), &all[1].Peers, address(0), &question{}); !errors.As(err, new(Refusal)) {
		t.Errorf("got %v", err)
	}
}
