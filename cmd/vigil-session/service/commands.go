package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/vigildb/vigil/cmd/vigil-session/config"
	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

// work is what one request needs from the store: calls, run as one transaction
// if there are several, and the answer that is made of their replies.
type work struct {
	calls  [][]any
	answer func(replies []any) ([]byte, error)
}

// errPayload is returned for payloads that the command cannot use.
var errPayload = errors.New("payload not understood")

// plans make work of requests, by command.
var plans = map[string]func(s *settings, m message, now time.Time) (work, error){
	wire.PageViewed:           pageView,
	wire.Combo:                combo,
	wire.Notifications:        notifications,
	wire.MarkNotificationSeen: markSeen,
	wire.FeaturedPages:        featuredPages,
}

// history is how many minutes before this one a page view is answered with.
const history = len(wire.PageView{}.Activity)

// pageView counts a view. The replies, in the order of the calls, are those
// that the demo's answer is made of; calls that renew the TTL follow them.
func pageView(s *settings, m message, now time.Time) (work, error) {
	path, err := pathname(m.payload)
	if err != nil {
		return work{}, err
	}
	unique, total, activity := s.Keys.Unique+":"+m.Session, s.Keys.Total+":"+m.Session, s.Keys.Activity+":"+m.Session
	minute := max(s.Epoch.Minute(now), 0) // a clock that was set back
	before := []any{"bitfield", activity}
	known := 0 // minutes of the history since the epoch
	for i := history; i > 0; i-- {
		if minute >= int64(i) {
			before = append(before, "get", "u1", minute-int64(i))
			known++
		}
	}
	calls := [][]any{
		{"pfadd", unique, path},
		{"incr", total},
		{"bitfield", activity, "get", "u1", minute, "set", "u1", minute, 1},
		before,
		{"pfcount", unique},
	}
	if s.Filters {
		calls = append(calls, []any{"bf.add", s.Keys.Pages + ":" + m.Session, path})
	}
	calls = append(calls, s.renewals(m.Session)...)
	return work{calls, func(replies []any) ([]byte, error) {
		var r reader
		v := wire.PageView{TotalPages: r.integer(replies[1]), UniquePages: r.integer(replies[4])}
		v.ActivityThisMinute = r.integer(r.element(replies[2], 0)) == 1
		for i := range known {
			v.Activity[history-known+i] = int(r.integer(r.element(replies[3], i)))
		}
		// Without a filter, a page that changed nothing in the HyperLogLog has
		// been there before, or is one of few that look the same to it.
		fresh := replies[0]
		if s.Filters {
			fresh = replies[5]
		}
		v.PreviouslyVisited = !r.truth(fresh)
		if r.err != nil {
			return nil, r.err
		}
		return wire.Marshal(v)
	}}, nil
}

// renewals give all keys of a session, those of other commands included, the
// same time to live.
func (s *settings) renewals(session string) [][]any {
	if s.sessionTTL == 0 {
		return nil
	}
	keys := []string{s.Keys.Unique, s.Keys.Total, s.Keys.Activity}
	if s.Filters {
		keys = append(keys, s.Keys.Pages, s.Keys.Notifications)
	}
	calls := make([][]any, len(keys))
	for i, key := range keys {
		calls[i] = []any{"pexpire", key + ":" + session, s.sessionTTL}
	}
	return calls
}

func combo(s *settings, m message, _ time.Time) (work, error) {
	pages := s.combo(m.payload)
	if len(pages) == 0 {
		return fixed(wire.MarshalText([]string{}))
	}
	return s.look(s.Keys.Pages, m.Session, pages, func(found []bool) ([]byte, error) {
		all := 1
		for _, f := range found {
			if !f {
				all = 0
			}
		}
		return wire.Marshal(all)
	}), nil
}

func notifications(s *settings, m message, _ time.Time) (work, error) {
	texts, err := s.texts(m.payload, s.Config.Notifications)
	if err != nil {
		return work{}, err
	}
	return s.look(s.Keys.Notifications, m.Session, texts, func(found []bool) ([]byte, error) {
		list := make([]wire.Notification, len(texts))
		for i, text := range texts {
			unread := !found[i]
			list[i] = wire.Notification{Text: text, Seen: unread, Link: "?seen=" + text}
			if s.Wire == config.Vigil {
				list[i].Unread = &unread
				list[i].Link = "?seen=" + url.QueryEscape(text)
			}
		}
		return wire.MarshalText(list)
	}), nil
}

func markSeen(s *settings, m message, _ time.Time) (work, error) {
	w := work{answer: func([]any) ([]byte, error) { return wire.Marshal(m.payload) }}
	if !s.Filters {
		return w, nil
	}
	key := s.Keys.Notifications + ":" + m.Session
	w.calls = [][]any{{"bf.add", key, m.payload}}
	if s.sessionTTL > 0 {
		w.calls = append(w.calls, []any{"pexpire", key, s.sessionTTL})
	}
	return w, nil
}

func featuredPages(s *settings, m message, _ time.Time) (work, error) {
	pages, err := s.texts(m.payload, s.Featured)
	if err != nil {
		return work{}, err
	}
	return s.look(s.Keys.Pages, m.Session, pages, func(found []bool) ([]byte, error) {
		fresh := []string{}
		for i, page := range pages {
			if !found[i] {
				fresh = append(fresh, page)
			}
		}
		return wire.MarshalText(fresh)
	}), nil
}

// look asks a session's filter for each of items. Without items, and without
// filters, nothing is asked and nothing is found.
func (s *settings) look(filter, session string, items []string, answer func(found []bool) ([]byte, error)) work {
	if len(items) == 0 || !s.Filters {
		return work{answer: func([]any) ([]byte, error) { return answer(make([]bool, len(items))) }}
	}
	call := make([]any, 0, 2+len(items))
	call = append(call, "bf.mexists", filter+":"+session)
	for _, item := range items {
		call = append(call, item)
	}
	return work{[][]any{call}, func(replies []any) ([]byte, error) {
		var r reader
		found := make([]bool, len(items))
		for i := range items {
			found[i] = r.truth(r.element(replies[0], i))
		}
		if r.err != nil {
			return nil, r.err
		}
		return answer(found)
	}}
}

// fixed is an answer that needs no work.
func fixed(answer []byte, err error) (work, error) {
	return work{answer: func([]any) ([]byte, error) { return answer, err }}, nil
}

// texts are the payload's, a JSON array of strings; an empty payload stands
// for those of the configuration.
func (s *settings) texts(payload string, configured []string) ([]string, error) {
	if payload == "" {
		return configured, nil
	}
	var texts []string
	if err := json.Unmarshal([]byte(payload), &texts); err != nil {
		return nil, fmt.Errorf("%w: %w", errPayload, err)
	}
	if texts == nil || len(texts) > s.Limits.Items {
		return nil, fmt.Errorf("%w: %d texts, want an array of %d at most", errPayload, len(texts), s.Limits.Items)
	}
	return texts, nil
}

// pathWritten makes a path of what a URL cannot hold as Node.js's url.parse does, so
// that the demo's microservice and this one find the same pages in a filter.
var pathWritten = strings.NewReplacer(" ", "%20", "\t", "%09", "\n", "%0A", "\r", "%0D", "\\", "/")

// pathname is the path in a path or URL, as it is written there but for white space and
// backslashes.
func pathname(page string) (string, error) {
	page = strings.TrimSpace(page)
	if strings.HasPrefix(page, "/") {
		if end := strings.IndexAny(page, "?#"); end >= 0 {
			page = page[:end]
		}
		return pathWritten.Replace(page), nil
	}
	u, err := url.Parse(page)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errPayload, err)
	}
	path := u.EscapedPath()
	if path == "" && u.Host != "" {
		path = "/"
	}
	if path == "" {
		return "", fmt.Errorf("%w: no path", errPayload)
	}
	return path, nil
}
