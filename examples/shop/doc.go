// Shop is a small web shop whose session store is vigil, after the white paper
// "Making Session Stores more Intelligent with Microservices". It never talks to
// the session microservice: it publishes, and waits on a list for the answer.
//
// Three kinds of data lie in vigil. What belongs to one browser is the session of
// scs, under the hash of its cookie. What is known of a visitor (pages, activity,
// notifications seen, the cart) lies under a visitor's id, which is no secret and
// outlives the renewal of the session's at sign-in. And each signed-in user has a
// hash with a field for each session, which ends by itself (index.go).
//
// Whatever the microservice does not say within the budget is left out of the page,
// which shows a small mark then: the shop never fails because of it.
package main
