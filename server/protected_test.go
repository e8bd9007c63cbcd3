package server

import "testing"

func TestProtectedModeAdmitsOnlyThisMachineWithoutPassword(t *testing.T) {
	srv := idleServer(t)
	for _, c := range []struct {
		remote string
		unix   bool
		denied bool
	}{
		{"127.0.0.1:5000", false, false},
		{"[::1]:5000", false, false},
		{"192.0.2.7:5000", false, true},
		{"/run/vigil.sock:0", true, false},
		{"nonsense", false, true},
	} {
		if got := srv.refusal(c.remote, c.unix); (got != "") != c.denied {
			t.Errorf("client at %s: refused with %q, want denied=%t", c.remote, got, c.denied)
		}
	}
}
