package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/webtier"
	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

// notices are the notifications of a group: one list for all visitors, the newest
// first. What each has seen of it, only the microservice knows.
type notices struct{ rdb *redis.Client }

const (
	noticesKey = "shop:notifications"
	shown      = 20      // of the list
	maxNotice  = 4 << 10 // bytes of one that is shown: its form must be able to come back
)

// samples are what the list begins with.
var samples = []any{
	"Tonight only: the midnight teapot comes with a tin of smoked tea.",
	"New on the shelves: a turntable for people in no hurry.",
	"Welcome to the group notifications. Everybody gets these; what you have read is yours alone.",
}

// begin fills the list the first time that a shop starts on this store.
func (n notices) begin(ctx context.Context) error {
	first, err := n.rdb.SetNX(ctx, noticesKey+":begun", 1, 0).Result()
	if err != nil || !first {
		return err
	}
	return n.rdb.RPush(ctx, noticesKey, samples...).Err()
}

// latest returns the newest notifications.
func (n notices) latest(ctx context.Context) ([]string, error) {
	texts, err := n.rdb.LRange(ctx, noticesKey, 0, shown-1).Result()
	return slices.DeleteFunc(texts, func(t string) bool { return t == "" || len(t) > maxNotice }), err
}

// groupNotifications shows them as read and unread. The link of the paper's demo,
// ?seen=TEXT, brings that text forward; it is marked by its button, not by the link.
func (s *shop) groupNotifications(w http.ResponseWriter, r *http.Request) {
	texts, err := s.notices.latest(r.Context())
	if err != nil {
		s.storeAway(w, r, err)
		return
	}
	var list []webtier.Notification
	a := s.ask(r, question{wire.Notifications, fmt.Sprintf("[%d texts]", len(texts)), func(ctx context.Context, visitor string) (err error) {
		list, err = s.web.Notifications(ctx, visitor, texts)
		return err
	}})
	known := list != nil
	if !known {
		for _, t := range texts {
			list = append(list, webtier.Notification{Text: t})
		}
	}
	unread := 0
	for _, n := range list {
		if n.Unread {
			unread++
		}
	}
	s.show(w, r, http.StatusOK, "notifications", "Notifications", a, map[string]any{
		"List": list, "Known": known, "Unread": unread, "Chosen": r.URL.Query().Get("seen"),
	})
}

// markSeen accepts only texts of the list: anything else would fill the
// visitor's filter.
func (s *shop) markSeen(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	texts, err := s.notices.latest(ctx)
	if err != nil {
		s.storeAway(w, r, err)
		return
	}
	text := r.PostForm.Get("text")
	if !slices.Contains(texts, text) {
		s.problem(w, r, http.StatusNotFound, "No such notification", "It may have made room for newer ones.")
		return
	}
	if s.degraded(s.web.MarkNotificationSeen(ctx, s.visitor(ctx), text)) {
		s.flash(ctx, "That could not be noted right now. Please try again in a moment.")
	}
	http.Redirect(w, r, "/group-notifications", http.StatusSeeOther)
}
