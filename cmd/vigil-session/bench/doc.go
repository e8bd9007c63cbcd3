// Package bench puts visitors on the session store and measures what their
// pages wait for: beside redis-server, with the same microservice and the same
// commands, in one run.
//
// A visitor views a page, waits for the answer as the serving layer does, and
// thinks for a time drawn from an exponential distribution. Every tenth page
// also marks a notification as seen. Each answer is checked: a page view must
// count one more than the visitor's last, and a notification's answer is its
// text, which no other request has. So an answer to another request shows.
package bench
