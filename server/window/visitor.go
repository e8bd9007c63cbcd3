package window

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/vigildb/vigil/server/internal/report"
)

// visitor is who sends a request: a user of the server. It has a connection of its own for the time of the request, on
// which the server itself checks the password, and what the user may see.
type visitor struct {
	asks     *report.Observer
	user     string
	password string
	named    bool // a user was named; otherwise it is the default user
	watcher  *observer
}

var (
	errPassword = errors.New("wrong name or password")
	errDialled  = errors.New("the connection was lost")
)

// visit makes the visitor of a request. It has to enter before it asks anything, and to leave at the end.
func (w *Window) visit(r *http.Request) *visitor {
	v := &visitor{user: defaultUser, watcher: w.observer}
	if user, password, ok := r.BasicAuth(); ok {
		v.user, v.password, v.named = user, password, true
	}
	var dialled atomic.Bool
	v.asks = w.source.ObserveBy(func() (net.Conn, error) {
		if dialled.Swap(true) { // another connection would be that of the default user
			return nil, errDialled
		}
		return w.inside.DialVisitor(clientName)
	})
	return v
}

// defaultUser is the user of those who name none.
const defaultUser = "default"

// enter checks the password, and that the visitor may make some calls, whose replies are not looked at. The error is
// errPassword, or says like the server what the visitor may not do.
func (v *visitor) enter(calls ...call) error {
	first := call{"AUTH", v.user, v.password}
	if !v.named {
		first = call{"PING"}
	}
	answers, err := v.asks.Ask(answerTime, 0, append([]call{first}, calls...)...)
	if err != nil {
		return err
	}
	if err := answers[0].Err(); err != nil && (v.named || strings.HasPrefix(err.Error(), "NOAUTH")) {
		return errPassword
	}
	for _, a := range answers[1:] {
		if err := a.Err(); isRefusal(err) {
			return err
		}
	}
	return nil
}

// isRefusal reports whether the server has refused a call because of who made it.
func isRefusal(err error) bool {
	return err != nil && (strings.HasPrefix(err.Error(), "NOPERM") || strings.HasPrefix(err.Error(), "NOAUTH"))
}

func (v *visitor) leave() { v.asks.Close() }

// may reports for each call whether the visitor may make it in a database. Nothing is read for that.
func (v *visitor) may(db int, calls ...call) ([]bool, error) {
	tries := make([]call, len(calls))
	for i, c := range calls {
		tries[i] = append(call{"ACL", "DRYRUN", v.user}, c...)
		if renamed, ok := v.watcher.Names[c[0]]; ok {
			tries[i][3] = renamed
		}
	}
	answers, err := v.watcher.Ask(answerTime, db, tries...)
	if err != nil {
		return nil, err
	}
	all := make([]bool, len(calls))
	for i, a := range answers {
		all[i] = a.Err() == nil && a.String() == "OK"
	}
	return all, nil
}

// mayAll reports whether the visitor may make all of the calls.
func (v *visitor) mayAll(db int, calls ...call) bool {
	all, err := v.may(db, calls...)
	for _, may := range all {
		if !may {
			return false
		}
	}
	return err == nil
}

// visible are those of keys about which the visitor may make a call of some words, behind which the key stands.
func (v *visitor) visible(keys []keyRef, words ...string) (seen []keyRef) {
	for len(keys) > 0 {
		n := 1 // calls to one database go together
		for n < len(keys) && keys[n].DB == keys[0].DB {
			n++
		}
		calls := make([]call, n)
		for i, k := range keys[:n] {
			calls[i] = append(slices.Clone(call(words)), k.Key)
		}
		all, err := v.may(keys[0].DB, calls...)
		for i := range all {
			if all[i] && err == nil {
				seen = append(seen, keys[i])
			}
		}
		keys = keys[n:]
	}
	return seen
}
