// Package servertest runs servers for the tests of programs that use one. A server is in
// memory, starts in some milliseconds and shares nothing with others, so that tests may run in
// parallel, each with its own.
//
//	func TestSession(t *testing.T) {
//		vigil := servertest.Run(t)
//		db := redis.NewClient(&redis.Options{Dialer: vigil.Dialer}) // go-redis
//		login(db, "robin")
//		vigil.CheckGet("session:robin", "active")
//		vigil.FastForward(30 * time.Minute)
//		if vigil.Exists("session:robin") {
//			t.Error("the session outlives its time")
//		}
//	}
//
// The one idea: it is the server itself, with all of its commands, and only its clock
// is of the test. The clock stands still until FastForward moves it, so that a time to live
// is what was set, to the millisecond, however slow the machine. Timers alone go on by
// themselves as well: a call that blocks for a second returns after a second of the
// machine, or when FastForward has passed over it.
//
// It promises:
//   - a server ends with its test, and its end is waited for;
//   - the methods of a Server, which are about keys, see what clients have been told of. They have a
//     connection of their own, the first of them opens it, and CLIENT LIST shows it;
//   - a method that cannot do its work (the key is of another type, the server is closed) fails
//     the test and says why. A key that is missing is no failure, but the zero value.
package servertest
