package wire

import (
	"errors"
	"strings"
	"testing"
)

func TestChannelsNameWhatTheDemoNames(t *testing.T) {
	r := Request{Command: PageViewed, Session: "s1", ID: "r1"}
	for _, c := range []struct{ got, want string }{
		{Names{}.Channel(r), "ss:pageview:s1:r1"},
		{Names{}.List(r), "async:pageview:s1:r1"},
		{Names{}.Pattern(Combo, "[a-m]*"), "ss:combo:[a-m]*:?*"},
		{Names{Prefix: "shop:ss", Async: "shop:async"}.Channel(r), "shop:ss:pageview:s1:r1"},
		{Names{Prefix: "shop:ss", Async: "shop:async"}.List(r), "shop:async:pageview:s1:r1"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestMalformedChannelsAreRefused(t *testing.T) {
	for _, channel := range []string{
		"", "ss", "ss:", "ss:pageview", "ss:pageview:s", "ss:pageview:s:", "ss:pageview::r", "ss::s:r",
		"ss:pageview:s:r:x", "ss:pageview:s:r:", "st:pageview:s:r", ":pageview:s:r",
		"ss:pageview:s:" + strings.Repeat("r", MaxID+1), "ss:pageview:" + strings.Repeat("s", MaxID+1) + ":r",
	} {
		if r, err := (Names{}).Parse(channel); !errors.Is(err, ErrMalformed) {
			t.Errorf("%.40q: got %+v, %v; want ErrMalformed", channel, r, err)
		}
	}
}

// FuzzParse: what Parse takes, Channel writes; so a request is answered on the
// list of the very session and request that the channel names.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"ss:pageview:s:r", "ss:combo:s:r:x", "ss:::", "ss:\x00:\xff:\n", "async:pageview:s:r"} {
		f.Add("ss", seed)
	}
	f.Add("a:b", "a:b:c:d:e")
	f.Fuzz(func(t *testing.T, prefix, channel string) {
		n := Names{Prefix: prefix}
		r, err := n.Parse(channel)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%q: %v", channel, err)
			}
			return
		}
		if got := n.Channel(r); got != channel {
			t.Errorf("%q is read as %+v, which is written %q", channel, r, got)
		}
		if want := "async:" + strings.TrimPrefix(channel, n.prefix()+":"); n.List(r) != want {
			t.Errorf("%q is answered on %q, want %q", channel, n.List(r), want)
		}
	})
}
