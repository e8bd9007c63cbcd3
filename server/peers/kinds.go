package peers

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// Kind is a kind of requests, whose fields are Q, and of replies to them, whose fields are A. Both are structs without fields of
// the names What, Group, Error, Again, Follows and Leader.
type Kind[Q, A any] struct {
	What   string // its name in requests
	Leader bool   // the leader of a group alone responds
}

// Nothing has no fields.
type Nothing struct{}

// Handle registers the function that responds to requests of the kind: with a reply or an error. The other server is
// told the text of the error, and whether it is transient.
func (k Kind[Q, A]) Handle(p *Peers, f func(ctx context.Context, m *commands.Membership, q *Q) (*A, error)) {
	p.kinds[k.What] = kind{k.Leader, func(ctx context.Context, m *commands.Membership, request []byte) (any, error) {
		q := new(Q)
		if json.Unmarshal(request, q) != nil {
			return nil, errUndecodable
		}
		a, err := f(ctx, m, q)
		if a == nil {
			a = new(A)
		}
		return a, err
	}}
}

// Encode returns a request in the form in which it travels.
func (k Kind[Q, A]) Encode(q *Q) ([]byte, error) { return join(struct{ What string }{k.What}, q) }

func (k Kind[Q, A]) decode(a *reply) (*A, error) {
	v := new(A)
	return v, json.Unmarshal(a.fields, v)
}

// Ask asks the server at an address. The error is a [Refusal] if it has replied.
func (k Kind[Q, A]) Ask(ctx context.Context, p *Peers, address string, q *Q) (*A, error) {
	return k.one(q, func(request []byte) (*reply, error) {
		a, err := p.ask(ctx, address, request)
		if err == nil && a.Error != "" {
			err = a.refusal()
		}
		return a, err
	})
}

// AskLeader asks the leader of a group, which is looked for at its members.
func (k Kind[Q, A]) AskLeader(ctx context.Context, p *Peers, s *commands.Shard, q *Q) (*A, error) {
	return k.one(q, func(request []byte) (*reply, error) { return p.askLeader(ctx, s, request) })
}

func (k Kind[Q, A]) one(q *Q, ask func(request []byte) (*reply, error)) (*A, error) {
	request, err := k.Encode(q)
	if err != nil {
		return nil, err
	}
	a, err := ask(request)
	if err != nil {
		return nil, err
	}
	return k.decode(a)
}

// AskLeaders asks the leaders of some groups at once. take is called with the replies, by one goroutine at a time. The error is
// the first one, with the name of the group: a transient one if all are.
func (k Kind[Q, A]) AskLeaders(ctx context.Context, p *Peers, shards []commands.Shard, q func(i int) *Q, take func(i int, a *A) error) error {
	return p.askLeaders(ctx, shards, func(i int) ([]byte, error) { return k.Encode(q(i)) }, func(i int, a *reply) error {
		v, err := k.decode(a)
		if err != nil {
			return err
		}
		return take(i, v)
	})
}

// AskAll asks all servers of the cluster at once. take is called with the replies, by one goroutine at a time. It returns the
// addresses of those that did not do what they were asked, in order.
func (k Kind[Q, A]) AskAll(ctx context.Context, p *Peers, q *Q, take func(a *A)) (silent []string, err error) {
	request, err := k.Encode(q)
	if err != nil {
		return nil, err
	}
	return p.askAll(ctx, request, func(a *reply) error {
		v, err := k.decode(a)
		if err == nil {
			take(v)
		}
		return err
	}), nil
}

var errUndecodable = errors.New("the request does not decode")

// Refusal is the error of a server that has replied, and does not do what it is asked.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// refusal is the error of a reply.
func (h *header) refusal() error {
	if h.Again {
		return Transient(Refusal(h.Error))
	}
	return Refusal(h.Error)
}

// transient is an error after which the same may be tried again.
type transient struct{ error }

func (t transient) Unwrap() error { return t.error }

// Transient marks an error as one after which the same may be tried again.
func Transient(err error) error { return transient{err} }

// IsTransient reports whether an error is marked so.
func IsTransient(err error) bool { return errors.As(err, new(transient)) }

// Text is an error without the code that clients see before it, "ERR", as other servers are told it.
func Text(err error) string { return strings.TrimPrefix(err.Error(), "ERR ") }
