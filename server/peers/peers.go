package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/vigildb/vigil/commands"
)

// Network is the way to other servers.
type Network interface {
	// AskServer has the server at an address of clients, which is not this one, respond to a request.
	AskServer(ctx context.Context, address string, request []byte) (reply []byte, err error)
}

// Options is what requests need of the server. All fields are needed, but for Network where there are no other servers.
type Options struct {
	Network Network
	// Membership returns nil for a server that is alone.
	Membership func() *commands.Membership
	// Go runs a function in a goroutine that whoever closes the server waits for.
	Go func(f func())
}

// Peers asks other servers, and responds to them.
type Peers struct {
	o     Options
	kinds map[string]kind // changed before the first request only
}

// kind is a Kind without its types.
type kind struct {
	leader bool
	serve  func(ctx context.Context, m *commands.Membership, request []byte) (reply any, err error)
}

// Open is called once, before all else.
func (p *Peers) Open(o Options) { p.o, p.kinds = o, map[string]kind{} }

// header is what all replies have.
type header struct {
	Group   string // ID of the group of the server that replies
	Error   string `json:",omitempty"`
	Again   bool   `json:",omitempty"` // the same request may be taken later
	Follows bool   `json:",omitempty"` // the leader alone takes the request
	Leader  string `json:",omitempty"` // its address, if it is known
}

// reply is a header and the fields of the kind, which fields has beside those of the header.
type reply struct {
	header
	fields []byte
}

// Respond responds to a request of another server, or of this one.
func (p *Peers) Respond(ctx context.Context, request []byte) []byte {
	h, fields := p.respond(ctx, request)
	out, err := join(h, fields)
	if err != nil { // JSON has no form for what is replied
		out, _ = join(header{Group: h.Group, Error: err.Error()}, struct{}{})
	}
	return out
}

func (p *Peers) respond(ctx context.Context, request []byte) (h header, fields any) {
	var q struct{ What string }
	if json.Unmarshal(request, &q) != nil {
		return header{Error: errUndecodable.Error()}, struct{}{}
	}
	m := p.o.Membership()
	if m == nil || m.Gone {
		return header{Error: "the server belongs to no group now", Again: true, Follows: true}, struct{}{}
	}
	h, fields = header{Group: m.ID}, struct{}{}
	switch k, known := p.kinds[q.What]; {
	case !known:
		h.Error = "the server does not know what it is asked: it is of an earlier version"
	case k.leader && !m.Leads:
		h.Error, h.Again, h.Follows = "the server does not lead its group", true, true
		if m.Led && m.Leader >= 0 {
			h.Leader = m.Members[m.Leader].Address()
		}
	default:
		a, err := k.serve(ctx, m, request)
		if err != nil {
			h.Error, h.Again = Text(err), IsTransient(err)
			break
		}
		fields = a
	}
	return h, fields
}

// join makes one JSON object of two; b has at least one field.
func join(a, b any) ([]byte, error) {
	first, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	second, err := json.Marshal(b)
	if err != nil || len(second) == len("{}") {
		return first, err
	}
	return append(append(first[:len(first)-1], ','), second[1:]...), nil
}

// ask asks a server, which may be this one. It returns when ctx ends, whatever the server does.
func (p *Peers) ask(ctx context.Context, address string, request []byte) (*reply, error) {
	replies, failed := make(chan *reply, 1), make(chan error, 1) // have room: nobody may wait any more
	m := p.o.Membership()
	own := m != nil && m.Members[m.Self].Address() == address
	p.o.Go(func() { // ends when the disk does, or the request: its client counts as one of the goroutines of Go
		a, err := new(reply), error(nil)
		if own {
			a.fields = p.Respond(ctx, request)
		} else {
			a.fields, err = p.o.Network.AskServer(ctx, address, request)
		}
		if err == nil {
			err = json.Unmarshal(a.fields, &a.header)
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

// askLeader asks the leader of a group, which is looked for at its members.
func (p *Peers) askLeader(ctx context.Context, s *commands.Shard, request []byte) (*reply, error) {
	var todo []string
	for i := range s.Members {
		if address := s.Members[i].Address(); i == s.Leader {
			todo = slices.Insert(todo, 0, address)
		} else {
			todo = append(todo, address)
		}
	}
	nobody := Transient(errors.New("no member of it is known to lead it"))
	err := nobody
	for asked := map[string]bool{}; len(todo) > 0 && ctx.Err() == nil; todo = todo[1:] {
		if asked[todo[0]] {
			continue
		}
		asked[todo[0]] = true
		a, e := p.ask(ctx, todo[0], request)
		switch {
		case e != nil:
			err = Transient(e)
		case a.Error == "" && a.Group == s.ID:
			return a, nil
		case a.Error == "":
			err = Transient(fmt.Errorf("%s: the server is of another group now", todo[0]))
		case a.Follows:
			if err == nobody { // else it says more than this
				err = Transient(fmt.Errorf("%s: %s", todo[0], a.Error))
			}
			if a.Leader != "" {
				todo = slices.Insert(todo, 1, a.Leader)
			}
		default:
			return nil, fmt.Errorf("%s: %w", todo[0], a.refusal())
		}
	}
	return nil, err
}

// askLeaders asks the leaders of some groups at once. take is called with the replies, by one goroutine at a time. The error is the
// first one, with the name of the group: a transient one if all are.
func (p *Peers) askLeaders(ctx context.Context, shards []commands.Shard, request func(i int) ([]byte, error), take func(i int, a *reply) error) error {
	var mu sync.Mutex
	var asked sync.WaitGroup
	errs := make([]error, len(shards))
	for i := range shards {
		asked.Go(func() { // ends with ctx
			q, err := request(i)
			var a *reply
			if err == nil {
				a, err = p.askLeader(ctx, &shards[i], q)
			}
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
		if err != nil && (first == nil || IsTransient(first) && !IsTransient(err)) {
			first = err
		}
	}
	return first
}

// askAll asks all servers of the cluster at once. take is called with the replies, by one goroutine at a time. It returns the
// addresses of those that did not do what they were asked, in order.
func (p *Peers) askAll(ctx context.Context, request []byte, take func(a *reply) error) (silent []string) {
	var all []string
	if m := p.o.Membership(); m != nil {
		for _, s := range m.Shards() {
			for i := range s.Members {
				all = append(all, s.Members[i].Address())
			}
		}
	}
	slices.Sort(all)
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, address := range slices.Compact(all) {
		asked.Go(func() { // ends with ctx
			a, err := p.ask(ctx, address, request)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || a.Error != "" || take(a) != nil {
				silent = append(silent, address)
			}
		})
	}
	asked.Wait()
	slices.Sort(silent)
	return silent
}
