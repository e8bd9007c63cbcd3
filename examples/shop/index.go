package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// index knows the sessions of each user: a hash for each, with a field for each
// session, named by the session's id and ending by itself when the session has been
// idle for too long. It decides who is signed in: a session whose field is gone is
// not, regardless of its own data. So a request that was under way while its
// session was ended cannot bring it back by saving its data.
type index struct{ rdb *redis.Client }

// signedIn is one session of a user.
type signedIn struct {
	ID    string        `json:"-"`
	Agent string        `json:"agent"` // the browser, in its own words
	Since time.Time     `json:"since"`
	Idle  time.Duration `json:"-"` // since the last request
}

func sessionsKey(user string) string { return "shop:sessions:" + user }

// storedSession is the key of the session's data in the store of scs.
func storedSession(id string) string { return "scs:session:" + id }

// add signs a session in.
func (x index) add(ctx context.Context, user string, s signedIn) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return x.rdb.HSetEXWithArgs(ctx, sessionsKey(user), &redis.HSetEXOptions{
		ExpirationType: redis.HSetEXExpirationPX, ExpirationVal: idle.Milliseconds(),
	}, s.ID, string(text)).Err()
}

// touch renews the time of a session, and reports whether it is signed in.
func (x index) touch(ctx context.Context, user, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	found, err := x.rdb.HGetEXWithArgs(ctx, sessionsKey(user), &redis.HGetEXOptions{
		ExpirationType: redis.HGetEXExpirationPX, ExpirationVal: idle.Milliseconds(),
	}, id).Result()
	return err == nil && len(found) == 1 && found[0] != "", err
}

// list returns the sessions of a user, the latest active first. How long a session
// has been idle is what is missing from the time of its field.
func (x index) list(ctx context.Context, user string) ([]signedIn, error) {
	all, err := x.rdb.HGetAll(ctx, sessionsKey(user)).Result()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	var ids []string
	for id := range all {
		ids = append(ids, id)
	}
	left, err := x.rdb.HPTTL(ctx, sessionsKey(user), ids...).Result()
	if err != nil {
		return nil, err
	}
	var list []signedIn
	for i, id := range ids {
		s := signedIn{ID: id, Idle: idle - time.Duration(left[i])*time.Millisecond}
		if left[i] < 0 || json.Unmarshal([]byte(all[id]), &s) != nil {
			continue // it ended between the two commands, or is not ours
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b signedIn) int { return int(a.Idle - b.Idle) })
	return list, nil
}

// end ends one session of a user, if it is one of theirs.
func (x index) end(ctx context.Context, user, id string) (bool, error) {
	n, err := x.rdb.HDel(ctx, sessionsKey(user), id).Result()
	if err != nil || n == 0 {
		return false, err
	}
	return true, x.rdb.Del(ctx, storedSession(id)).Err()
}

// endAll ends every session of a user, also one that signs in meanwhile: the
// hash goes as a whole.
func (x index) endAll(ctx context.Context, user string) error {
	ids, err := x.rdb.HKeys(ctx, sessionsKey(user)).Result()
	if err != nil {
		return err
	}
	keys := []string{sessionsKey(user)}
	for _, id := range ids {
		keys = append(keys, storedSession(id))
	}
	return x.rdb.Del(ctx, keys...).Err()
}
