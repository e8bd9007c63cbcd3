package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/crypto/bcrypt"
)

// accounts are those of a demonstration, and its pages say so: the first to sign in
// with a name chooses its password. They end after a month without a sign-in.
type accounts struct {
	rdb   *redis.Client
	cost  int
	turns chan struct{} // one for each processor: hashing a password is work that visitors can ask for
}

const accountLife = 30 * 24 * time.Hour

// Passwords have 8 to 72 bytes: bcrypt reads no more.
const (
	minPassword = 8
	maxPassword = 72
)

var (
	errBadName     = errors.New("a name has 2 to 24 letters, digits, dots or dashes")
	errBadPassword = fmt.Errorf("a password has %d to %d characters", minPassword, maxPassword)
	errWrong       = errors.New("that name is taken, and this is not its password")
)

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,23}$`)

func newAccounts(rdb *redis.Client, cost int) *accounts {
	return &accounts{rdb: rdb, cost: cost, turns: make(chan struct{}, runtime.NumCPU())}
}

func accountKey(name string) string { return "shop:account:" + name }

// canonical is the form of a name that is stored: lower case, without spaces around it.
func canonical(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// check says whether the name, in its canonical form, may sign in with the password.
// A new name is kept with it, and fresh is true. The errors above are for the visitor to read.
func (a *accounts) check(ctx context.Context, name, password string) (fresh bool, err error) {
	if !namePattern.MatchString(name) {
		return false, errBadName
	}
	if len(password) < minPassword || len(password) > maxPassword {
		return false, errBadPassword
	}
	select {
	case a.turns <- struct{}{}:
		defer func() { <-a.turns }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	hash, err := a.rdb.GetEx(ctx, accountKey(name), accountLife).Bytes()
	if errors.Is(err, redis.Nil) {
		if fresh, err = a.claim(ctx, name, password); err != nil || fresh {
			return fresh, err
		}
		hash, err = a.rdb.Get(ctx, accountKey(name)).Bytes() // another request was faster
	}
	if err != nil {
		return false, err
	}
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil {
		return false, errWrong
	}
	return false, nil
}

// claim keeps a new name, unless it has just been taken.
func (a *accounts) claim(ctx context.Context, name, password string) (bool, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), a.cost)
	if err != nil {
		return false, err
	}
	return a.rdb.SetNX(ctx, accountKey(name), hash, accountLife).Result()
}

// limit allows so many tries in a window of time, counted under a key.
type limit struct {
	key    string
	tries  int64
	window time.Duration
}

// limitsFor returns the limits of a sign-in. The first stops guessing; the second, guessing
// by many names; the third, guessing from many addresses, and is wide, since
// otherwise anyone who reaches it could lock the owner of the name out.
func limitsFor(name, address string) []limit {
	return []limit{
		{"shop:tries:" + address + ":" + name, 5, time.Minute},
		{"shop:tries:" + address, 30, time.Minute},
		{"shop:tries:name:" + name, 100, time.Hour},
	}
}

// take counts a try. It returns how long to wait when there were too many.
func (a *accounts) take(ctx context.Context, limits []limit) (time.Duration, error) {
	var wait time.Duration
	for _, l := range limits {
		var n *redis.IntCmd
		var left *redis.DurationCmd
		_, err := a.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			n = p.Incr(ctx, l.key)
			p.ExpireNX(ctx, l.key, l.window)
			left = p.PTTL(ctx, l.key)
			return nil
		})
		if err != nil {
			return 0, err
		}
		if n.Val() > l.tries {
			wait = max(wait, left.Val(), time.Second)
		}
	}
	return wait, nil
}

// forgive forgets the tries of an address with a name after the right password.
func (a *accounts) forgive(ctx context.Context, limits []limit) error {
	return a.rdb.Del(ctx, limits[0].key).Err()
}
