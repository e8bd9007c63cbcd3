package main

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/alexedwards/scs/goredisstore"
	"github.com/alexedwards/scs/v2"
	"github.com/redis/go-redis/v9"
	"golang.org/x/crypto/bcrypt"

	"github.com/vigildb/vigil/cmd/vigil-session/webtier"
)

// Sessions end after idle without a request, and after lifetime in any case.
const (
	idle     = 30 * time.Minute
	lifetime = 24 * time.Hour
)

// options says how a shop runs.
type options struct {
	Redis        *redis.Client // for everything but questions to the microservice
	Asking       *redis.Client // for those: a connection each while they wait
	Budget       time.Duration // for an answer of the microservice; 0 is webtier's default
	Proxied      bool          // visitors come by https through a proxy of ours
	PasswordCost int           // of bcrypt; 0 is its default
	Log          *slog.Logger
}

// shop is the serving layer.
type shop struct {
	opts     options
	rdb      *redis.Client
	web      *webtier.Client
	sessions *scs.SessionManager
	accounts *accounts
	index    index
	notices  notices
	carts    carts
	views    *views
	log      *slog.Logger
}

func newShop(o options) (*shop, error) {
	if o.PasswordCost == 0 {
		o.PasswordCost = bcrypt.DefaultCost
	}
	v, err := newViews()
	if err != nil {
		return nil, err
	}
	s := &shop{opts: o, rdb: o.Redis, log: o.Log, views: v,
		web:      webtier.New(o.Asking, webtier.Options{Budget: o.Budget}),
		accounts: newAccounts(o.Redis, o.PasswordCost),
		index:    index{o.Redis}, notices: notices{o.Redis}, carts: carts{o.Redis}}
	s.sessions = newSessions(o)
	s.sessions.ErrorFunc = s.storeAway
	return s, nil
}

// newSessions keeps sessions under the hash of their token, so that neither a
// key's name nor the index of a user's sessions is worth a cookie.
func newSessions(o options) *scs.SessionManager {
	m := scs.New()
	m.Store = goredisstore.New(o.Redis)
	m.HashTokenInStore = true
	m.IdleTimeout, m.Lifetime = idle, lifetime
	m.Cookie.Name = "session"
	if o.Proxied {
		m.Cookie.Name, m.Cookie.Secure = "__Host-session", true
	}
	return m
}

// handler is the whole shop.
func (s *shop) handler() http.Handler {
	pages := http.NewServeMux()
	s.routes(pages)
	site := http.NewServeMux()
	site.Handle("GET /static/", staticFiles())
	site.Handle("/", sameOrigin(s.readForm(s.sessions.LoadAndSave(s.identify(pages)))))
	return lastWord(s.recovered(s.hardened(site)))
}

// routes are all the ways into the shop. A GET never alters more than what the
// paper counts as a page view.
func (s *shop) routes(mux *http.ServeMux) {
	for path, page := range map[string]http.HandlerFunc{
		"/{$}":                   s.home,
		"/product/{item}":        s.product,
		"/added/{item}":          s.added,
		"/added-sync/{item}":     s.addedSync,
		"/confirm-purchase":      s.confirmPurchase,
		"/group-notifications":   s.groupNotifications,
		"/raw-session-analytics": s.rawAnalytics,
		"/sign-in":               s.signInForm,
		"/sessions":              s.listSessions,
		"/":                      s.notFound,
	} {
		mux.HandleFunc("GET "+path, page)
	}
	for path, change := range s.changes() {
		mux.Handle("POST "+path, s.withToken(change))
	}
}

// changes are the ways in that alter something. Each needs the token of a form.
func (s *shop) changes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/cart":                     s.addToCart,
		"/cart/remove":              s.removeFromCart,
		"/purchase":                 s.purchase,
		"/group-notifications/seen": s.markSeen,
		"/sign-in":                  s.signIn,
		"/sign-out":                 s.signOut,
		"/sessions/end":             s.endSession,
		"/sessions/end-all":         s.endAllSessions,
		"/panel":                    s.foldPanel,
	}
}
