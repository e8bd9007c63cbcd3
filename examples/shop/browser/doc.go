// Package browser tests the shop as its visitors meet it: in a browser, with the real
// programs behind it. Its tests need headless Chromium and the build tag browser:
//
//	make browser        installs it on Debian, and runs them
//	make screenshots    draws docs/images
package browser
