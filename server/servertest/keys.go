package servertest

import (
	"slices"
	"strconv"
	"time"
)

// Select makes a database that of the methods about keys from now on. Clients of the test have their own.
func (s *Server) Select(db int) { s.t.Helper(); s.must("SELECT", strconv.Itoa(db)) }

// FlushAll removes all keys of all databases.
func (s *Server) FlushAll() { s.t.Helper(); s.must("FLUSHALL") }

// FlushDB removes all keys of the database.
func (s *Server) FlushDB() { s.t.Helper(); s.must("FLUSHDB") }

// Keys returns the names of all keys, in their order.
func (s *Server) Keys() []string {
	s.t.Helper()
	return sorted(s.texts("KEYS", "*"))
}

// Exists reports whether there is a key.
func (s *Server) Exists(key string) bool { s.t.Helper(); return s.number("EXISTS", key) == 1 }

// Type returns the type of a key as TYPE does, "none" if there is no such key.
func (s *Server) Type(key string) string { s.t.Helper(); return s.text("TYPE", key) }

// Del removes a key, and reports whether it was there.
func (s *Server) Del(key string) bool { s.t.Helper(); return s.number("DEL", key) == 1 }

// TTL returns the time that a key has left, 0 if it does not expire or is missing.
func (s *Server) TTL(key string) time.Duration {
	s.t.Helper()
	return max(0, time.Duration(s.number("PTTL", key))*time.Millisecond)
}

// SetTTL lets a key expire in d, which is in whole milliseconds, or never with 0.
func (s *Server) SetTTL(key string, d time.Duration) {
	s.t.Helper()
	if d == 0 {
		s.must("PERSIST", key)
		return
	}
	s.must("PEXPIRE", key, strconv.FormatInt(d.Milliseconds(), 10))
}

// Set makes a key a string, without an expiry.
func (s *Server) Set(key, value string) { s.t.Helper(); s.must("SET", key, value) }

// Get returns the value of a string, "" if there is no such key.
func (s *Server) Get(key string) string { s.t.Helper(); return s.text("GET", key) }

// Incr adds to the number that a string is, and returns the sum.
func (s *Server) Incr(key string, by int) int {
	s.t.Helper()
	return s.number("INCRBY", key, strconv.Itoa(by))
}

// Push appends elements to a list, and returns its length.
func (s *Server) Push(key string, elements ...string) int {
	s.t.Helper()
	return s.number(append([]string{"RPUSH", key}, elements...)...)
}

// List returns the elements of a list.
func (s *Server) List(key string) []string { s.t.Helper(); return s.texts("LRANGE", key, "0", "-1") }

// SAdd adds members to a set, and returns how many are new.
func (s *Server) SAdd(key string, members ...string) int {
	s.t.Helper()
	return s.number(append([]string{"SADD", key}, members...)...)
}

// Members returns the members of a set, in their order.
func (s *Server) Members(key string) []string {
	s.t.Helper()
	return sorted(s.texts("SMEMBERS", key))
}

// HSet sets fields of a hash, which are followed by their values.
func (s *Server) HSet(key string, fieldsAndValues ...string) {
	s.t.Helper()
	s.must(append([]string{"HSET", key}, fieldsAndValues...)...)
}

// HGet returns the value of a field of a hash, "" if there is no such field.
func (s *Server) HGet(key, field string) string { s.t.Helper(); return s.text("HGET", key, field) }

// Hash returns the fields of a hash with their values.
func (s *Server) Hash(key string) map[string]string {
	s.t.Helper()
	all, m := s.texts("HGETALL", key), map[string]string{}
	for i := 0; i+1 < len(all); i += 2 {
		m[all[i]] = all[i+1]
	}
	return m
}

// ZAdd gives a member of a sorted set a score.
func (s *Server) ZAdd(key string, score float64, member string) {
	s.t.Helper()
	s.must("ZADD", key, strconv.FormatFloat(score, 'g', -1, 64), member)
}

// SortedSet returns the members of a sorted set with their scores.
func (s *Server) SortedSet(key string) map[string]float64 {
	s.t.Helper()
	all, m := s.texts("ZRANGE", key, "0", "-1", "WITHSCORES"), map[string]float64{}
	for i := 0; i+1 < len(all); i += 2 {
		score, err := strconv.ParseFloat(all[i+1], 64)
		if err != nil {
			s.fail("the score of %s: %v", all[i], err)
		}
		m[all[i]] = score
	}
	return m
}

// Entry is an entry of a stream.
type Entry struct {
	ID     string
	Values []string // fields, each followed by its value
}

// XAdd adds an entry to a stream, with an ID such as "1-1" or "*", and returns its ID.
func (s *Server) XAdd(key, id string, fieldsAndValues ...string) string {
	s.t.Helper()
	return s.text(append([]string{"XADD", key, id}, fieldsAndValues...)...)
}

// Stream returns the entries of a stream, in their order.
func (s *Server) Stream(key string) []Entry {
	s.t.Helper()
	entries := []Entry{}
	all, _ := s.must("XRANGE", key, "-", "+").([]any)
	for _, v := range all {
		pair, _ := v.([]any)
		if len(pair) != 2 {
			s.fail("XRANGE %s: an entry of %d parts", key, len(pair))
		}
		e := Entry{}
		e.ID, _ = pair[0].(string)
		fields, _ := pair[1].([]any)
		for _, f := range fields {
			text, _ := f.(string)
			e.Values = append(e.Values, text)
		}
		entries = append(entries, e)
	}
	return entries
}

// Publish sends a message to a channel, and returns how many clients receive it.
func (s *Server) Publish(channel, message string) int {
	s.t.Helper()
	return s.number("PUBLISH", channel, message)
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
