package server

import (
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/server/pubsub"
)

// What clients may do. Each has a user whose rules are asked for every call: when it is
// received, again when EXEC runs it, when a script makes it, and when a blocked call is
// run again. Rules are replaced as a whole by other goroutines at any time; a call is
// judged by those that it finds.

// access is who a client is, and decides what it may do.
type access struct {
	s        *session
	user     atomic.Pointer[acl.User] // only the owner of the session changes it
	observer bool                     // of DialObserver or DialVisitor
}

// permit returns nil if the client may make a call, else the error of a call that is
// refused at a place.
func (a *access) permit(cmd *commands.Command, argv [][]byte, where acl.Context) error {
	if a.unrestricted() {
		return nil
	}
	return a.judge(cmd, argv, where)
}

// unrestricted reports whether the client may make every call. The compiler inlines it.
func (a *access) unrestricted() bool { return a.user.Load().Rules().Everything() && !a.observer }

// judge is permit for a user who may not do everything.
func (a *access) judge(cmd *commands.Command, argv [][]byte, where acl.Context) error {
	s := a.s
	if where == acl.TopLevel && s.Has(commands.ClientMulti) {
		where = acl.InMulti
	}
	sent := cmd
	if where == acl.InScript {
		sent = s.scripting.sent
	}
	d := a.denied(cmd, argv, where, sent, s.view.look)
	switch {
	case d == nil:
		return nil
	case where == acl.InScript:
		return acl.ErrNoPermissionInScript(a.user.Load(), cmd, d)
	}
	return acl.ErrNoPermission(a.user.Load(), cmd, d)
}

// denied returns what the client may not do of a call, nil if it may make it, and
// records a refusal with what look sees of the client. The command that the client sent
// is another one if EXEC or a script makes the call.
func (a *access) denied(cmd *commands.Command, argv [][]byte, where acl.Context, sent *commands.Command, look func() clientView) *acl.Denial {
	s := a.s
	u := a.user.Load()
	d := u.Rules().Check(s.DB(), cmd, argv)
	if d == nil && a.observer && cmd.Is(commands.Write) {
		d = &acl.Denial{Reason: acl.DeniedCommand}
	}
	if d == nil {
		return nil
	}
	object := cmd.FullName()
	if d.Index > 0 {
		object = string(argv[d.Index])
	}
	if s.srv.audits.wants(cmd) {
		s.srv.audits.add(s, cmd, argv, "NOPERM", false)
	}
	v := look()
	v.cmd = sent
	a.refused(acl.Refusal{Reason: d.Reason, Context: where, Object: object, User: u.Name()}, v)
	return d
}

// refused records a refusal in ACL LOG.
func (a *access) refused(r acl.Refusal, v clientView) {
	s := a.s
	r.Client = s.view.line(v)
	s.srv.users.refusals.Add(r, s.srv.clock.Now().UnixMilli(), s.srv.settings().conf.ACLLogMaxLen)
}

// become gives the client another user.
func (a *access) become(u *acl.User) {
	a.user.Store(u)
	a.s.SetText(func(t *commands.ClientText) { t.User = u.Name() })
}

// Authenticate makes the client another user if the password is right.
func (a *access) Authenticate(c *commands.Ctx, name, password []byte) error {
	s := a.s
	u := s.sharing.Users().Authenticate(name, password)
	if u != nil {
		former := a.user.Load()
		if a.become(u); !u.Admits(password) {
			// The rules have become others meanwhile, as after a rollback of the group: those who
			// disconnect the user's clients then may have missed this one.
			a.become(former)
			u = nil
		}
	}
	if u == nil {
		where := acl.TopLevel
		if s.Has(commands.ClientMulti) || c.InMulti {
			where = acl.InMulti
		}
		s.srv.audits.wrongPassword(s, c, string(name))
		a.refused(acl.Refusal{Reason: acl.DeniedAuth, Context: where, Object: string(c.Args.All()[0]), User: string(name)}, s.view.look())
		return commands.ErrWrongPass
	}
	a.setAuthenticated(true)
	return nil
}

// Open reports whether clients are the default user without a password.
func (h host) Open() bool { return h.srv.users.Default().Rules().Open() }

// AnyPassword reports whether every password of the default user is right.
func (h host) AnyPassword() bool { return h.srv.users.Default().Rules().NoPass() }

// HasUser reports whether there is a user of that name.
func (h host) HasUser(name string) bool { return h.srv.users.Find(name) != nil }

// ReadsAll reports whether the client may read every key with the call.
func (a *access) ReadsAll(c *commands.Ctx) bool {
	return a.user.Load().Rules().ReadsAll(a.s.DB(), c.Command, c.Args.All())
}

// mayReceive reports whether the client's user may subscribe to a topic.
func (a *access) mayReceive(kind pubsub.Kind, name string) bool {
	r := a.user.Load().Rules()
	return r.Everything() || r.MayReceive([]byte(name), kind == pubsub.Pattern)
}

// Revoke disconnects the clients of deleted users, and subscribers that may no longer
// receive what they subscribe to. The caller itself still gets its reply.
func (a *access) Revoke(c *commands.Ctx, deleted []*acl.User) {
	if a.s.srv.users.revoke(a.s, deleted) {
		c.CloseAfter = true
	}
}

// revoke is Revoke for any caller; it reports whether self, which may be nil, is to be disconnected too.
func (u *users) revoke(self *session, deleted []*acl.User) (itself bool) {
	lost := u.srv.broker.Lost(func(c pubsub.Subscriber, kind pubsub.Kind, name string) bool {
		return c.(*session).access.mayReceive(kind, name)
	})
	gone := make(map[*acl.User]bool, len(deleted))
	for _, u := range deleted {
		gone[u] = true
	}
	for _, o := range u.srv.clients.list() {
		switch {
		case !lost[o] && !gone[o.access.user.Load()]:
		case o == self:
			itself = true
		default:
			u.srv.kill(o)
		}
	}
	return itself
}

// AccessLog is the log of refused calls.
func (h host) AccessLog() *acl.Log { return &h.srv.users.refusals }

// RandomHex returns n unpredictable hexadecimal digits, or what follows from the seed
// of a test.
func (h host) RandomHex(n int) string {
	b := make([]byte, (n+1)/2)
	if h.srv.opts.fixed {
		for i := range b {
			b[i] = byte(h.Random(256))
		}
	} else {
		_, _ = rand.Read(b) // which never fails
	}
	return hex.EncodeToString(b)[:n]
}

// mustAuth reports whether clients have to authenticate. A client that came
// before a password was set stays authenticated.
func (a *access) mustAuth() bool {
	if a.s.Open() {
		a.setAuthenticated(true)
		return false
	}
	return true
}

// setAuthenticated records whether the client is authenticated, which limits what
// it may send.
func (a *access) setAuthenticated(yes bool) {
	if yes {
		a.s.Set(commands.ClientAuthenticated)
	} else {
		a.s.Clear(commands.ClientAuthenticated)
	}
	a.s.in.framer.SetAuthenticated(yes)
}
