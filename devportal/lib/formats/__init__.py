"""How moments are written where no page says otherwise; `FORMAT_MODULE_PATH` names this package."""
