package webtier

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

// PageView is what a page learns about its session: see wire.PageView.
type PageView = wire.PageView

// Notification is a text for a group, and whether this session has seen it.
type Notification struct {
	Text   string
	Unread bool
	// Link marks it as seen when followed: a query, relative to the page.
	Link string
}

// PageView counts a view of a path, or of the path of a URL.
func (c *Client) PageView(ctx context.Context, session, path string) (PageView, error) {
	var v PageView
	answer, err := c.Ask(ctx, wire.PageViewed, session, path)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(answer, &v); err != nil {
		return PageView{}, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return v, nil
}

// Combo says whether the session has viewed all pages of the combination that
// the microservice is configured with; without one it is false.
func (c *Client) Combo(ctx context.Context, session string) (bool, error) {
	answer, err := c.Ask(ctx, wire.Combo, session, "1")
	if err != nil {
		return false, err
	}
	switch string(answer) {
	case "1":
		return true, nil
	case "0", `"[]"`:
		return false, nil
	}
	return false, fmt.Errorf("%w: combo of %.20q", ErrAnswer, answer)
}

// FeaturedPages returns those of pages that the session has not viewed, in the
// order given.
func (c *Client) FeaturedPages(ctx context.Context, session string, pages []string) ([]string, error) {
	var fresh []string
	if err := c.askList(ctx, wire.FeaturedPages, session, pages, &fresh); err != nil {
		return nil, err
	}
	return fresh, nil
}

// Notifications says which of texts the session has seen, in the order given.
func (c *Client) Notifications(ctx context.Context, session string, texts []string) ([]Notification, error) {
	var list []wire.Notification
	if err := c.askList(ctx, wire.Notifications, session, texts, &list); err != nil {
		return nil, err
	}
	all := make([]Notification, len(list))
	for i, n := range list {
		all[i] = Notification{Text: n.Text, Unread: n.IsUnread(), Link: n.Link}
	}
	return all, nil
}

// MarkNotificationSeen waits until the text counts as seen.
func (c *Client) MarkNotificationSeen(ctx context.Context, session, text string) error {
	_, err := c.Ask(ctx, wire.MarkNotificationSeen, session, text)
	return err
}

func (c *Client) askList(ctx context.Context, command, session string, texts []string, into any) error {
	if texts == nil {
		texts = []string{} // null is not an array
	}
	payload, err := wire.Marshal(texts)
	if err != nil {
		return err
	}
	answer, err := c.Ask(ctx, command, session, string(payload))
	if err != nil {
		return err
	}
	if err := wire.UnmarshalText(answer, into); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return nil
}
