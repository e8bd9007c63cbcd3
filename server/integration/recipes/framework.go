package recipes

import (
	"time"

	"github.com/alexedwards/scs/goredisstore"
	"github.com/alexedwards/scs/v2"
	"github.com/boj/redistore"
	"github.com/redis/go-redis/v9"
)

// SCS configures alexedwards/scs. Commit at the end of each request sets the
// expiry again if IdleTimeout is set.
func SCS(rdb *redis.Client) *scs.SessionManager {
	sessions := scs.New()
	sessions.Store = goredisstore.New(rdb) // keys scs:session:<id>
	sessions.Lifetime, sessions.IdleTimeout = 12*time.Hour, 30*time.Minute
	return sessions
}

// Gorilla configures gorilla/sessions with boj/redistore, which is built on redigo.
func Gorilla(addr string, secret []byte) (*redistore.RediStore, error) {
	store, err := redistore.NewRediStore(10, "tcp", addr, "", "", secret) // keys session_<id>
	if err != nil {
		return nil, err
	}
	store.SetMaxAge(30 * 60)
	return store, nil
}
