package webtier

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

// answering returns a client whose every question gets this answer, and the
// payloads of the questions.
func answering(t *testing.T, answer string) (*Client, <-chan string) {
	t.Helper()
	s := start(t)
	payloads := make(chan string, 8) // more than any test asks
	respond(t, s, func(ctx context.Context, rdb *redis.Client, r wire.Request, payload string) {
		payloads <- payload
		push(ctx, t, rdb, r, answer)
	})
	web, _ := dial(t, s, Options{Budget: patient})
	return web, payloads
}

func TestPageViewIsRead(t *testing.T) {
	web, _ := answering(t, `{"activityThisMinute":false,"totalPages":7,"activity":[0,0,0,0,0],"uniquePages":3,"previouslyVisited":true}`)
	got, err := web.PageView(t.Context(), "s", "/added/tv")
	want := PageView{TotalPages: 7, UniquePages: 3, PreviouslyVisited: true}
	if err != nil || got != want || !got.Idle() || got.First() {
		t.Errorf("got %+v, %v; want %+v, idle", got, err, want)
	}
}

func TestComboIsRead(t *testing.T) {
	for answer, want := range map[string]bool{"1": true, "0": false, `"[]"`: false} {
		web, _ := answering(t, answer)
		if got, err := web.Combo(t.Context(), "s"); got != want || err != nil {
			t.Errorf("answer %s: got %t, %v; want %t", answer, got, err, want)
		}
	}
}

func TestFeaturedPagesAreRead(t *testing.T) {
	for _, answer := range []string{`"[\"/a\",\"/b\"]"`, `["/a","/b"]`} {
		web, payloads := answering(t, answer)
		got, err := web.FeaturedPages(t.Context(), "s", []string{"/a", "/b", "/<c>"})
		if want := []string{"/a", "/b"}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("answer %s: got %q, %v; want %q", answer, got, err, want)
		}
		if payload := <-payloads; payload != `["/a","/b","/<c>"]` {
			t.Errorf("payload: %s", payload)
		}
	}
	web, payloads := answering(t, `"[]"`)
	if got, err := web.FeaturedPages(t.Context(), "s", nil); len(got) != 0 || err != nil {
		t.Errorf("no pages: got %q, %v", got, err)
	}
	if payload := <-payloads; payload != `[]` {
		t.Errorf("payload without pages: %s", payload)
	}
}

func TestNotificationsAreReadInBothForms(t *testing.T) {
	want := []Notification{{Text: "new", Unread: true, Link: "?seen=new"}, {Text: "old", Link: "?seen=old"}}
	for form, answer := range map[string]string{
		"demo":  `"[{\"text\":\"new\",\"seen\":true,\"link\":\"?seen=new\"},{\"text\":\"old\",\"seen\":false,\"link\":\"?seen=old\"}]"`,
		"vigil": `"[{\"text\":\"new\",\"seen\":true,\"link\":\"?seen=new\",\"unread\":true},{\"text\":\"old\",\"seen\":true,\"link\":\"?seen=old\",\"unread\":false}]"`,
	} {
		web, _ := answering(t, answer)
		got, err := web.Notifications(t.Context(), "s", []string{"new", "old"})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v; want %+v", form, got, err, want)
		}
	}
}

func TestAnswersThatMakeNoSenseDegradeThePage(t *testing.T) {
	for _, answer := range []string{"", "{", "[1]", `"[1]"`, `"{"`, "7", `"oops"`} {
		web, _ := answering(t, answer)
		if _, err := web.PageView(t.Context(), "s", "/"); !errors.Is(err, ErrAnswer) || !errors.Is(err, ErrDegraded) {
			t.Errorf("page view answered %q: got %v, want ErrAnswer", answer, err)
		}
		if _, err := web.Combo(t.Context(), "s"); !errors.Is(err, ErrAnswer) {
			t.Errorf("combo answered %q: got %v, want ErrAnswer", answer, err)
		}
		if _, err := web.FeaturedPages(t.Context(), "s", nil); !errors.Is(err, ErrAnswer) {
			t.Errorf("featured pages answered %q: got %v, want ErrAnswer", answer, err)
		}
		if _, err := web.Notifications(t.Context(), "s", nil); !errors.Is(err, ErrAnswer) {
			t.Errorf("notifications answered %q: got %v, want ErrAnswer", answer, err)
		}
	}
}
