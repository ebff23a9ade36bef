def do_train(cfg, model, loader, optimizer, scheduler, criterion, per_epoch):
    for _ in range(1, cfg.MAX_EPOCHS + 1):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            if not per_epoch:
                scheduler.step()
        if per_epoch:
            scheduler.step()
