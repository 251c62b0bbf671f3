"""Security activity: the events of an account, which its owner can see, and gets emails about if they matter."""
